#include "shared.hpp"

#include <rdmanet/kernel/gid.hpp>
#include <rdmanet/kernel/pkey.hpp>
#include <rdmanet/kernel/rdma_files.hpp>

#include <algorithm>
#include <cerrno>

namespace rdmanet::kernel {
namespace {

template <class Meant>
fake::Rdma* find_rdma(Space& here, const Meant& is_meant) {
    for (auto& [number, space] : machine().spaces)
        if (&space == &here || machine().mode == RdmaNetnsMode::shared)
            for (fake::Rdma& each : space.rdma)
                if (is_meant(each.device)) return &each;
    return nullptr;
}

fake::Rdma* find_rdma(Socket& rdma, std::uint32_t index) {
    return find_rdma(machine().space_of(rdma), [&](const RdmaDevice& device) { return device.index == index; });
}

/// Whether the GIDs of a port at `function` have this address of this link.
bool has_gid(const std::string& function, const Space& space, const Netdev& each) {
    return machine().has_gids && fake::function_below(space, each.link) == function;
}

bool shows(const std::string& root, std::uint64_t number) {
    if (machine().mode == RdmaNetnsMode::shared) return true;
    return root == std::to_string(number) || (root.starts_with('/') && number == machine().current);
}

/// `root` is the path of a namespace (NetnsSysfs), or what the current one shows.
std::vector<GidEntry> gids_of(const RdmaPort& port, const std::string& root) {
    std::vector<GidEntry> entries;
    std::string function;
    for (const auto& [number, space] : machine().spaces)
        for (const fake::Rdma& each : space.rdma)
            if (shows(root, number) && (each.device.index == port.device_index || each.device.name == port.device))
                function = each.function;
    for (const auto& [number, space] : machine().spaces)
        for (const Netdev& each : space.netdevs) {
            if (!has_gid(function, space, each)) continue;
            if (const auto gid = each.link.port_gid()) entries.push_back({.index = 0, .address = *gid});
            for (const Address& address : each.addresses)
                for (const GidType type : {GidType::ib_or_roce_v1, GidType::roce_v2})
                    entries.push_back({.index = static_cast<unsigned>(entries.size()),
                                       .address = address.prefix.address(),
                                       .type = type,
                                       .netdev = each.link.name});
        }
    return entries;
}

} // namespace

RdmaSystem read_rdma_system(Socket& /*rdma*/) {
    return {.netns_mode = machine().has_modes ? std::optional(machine().mode) : std::nullopt};
}

RdmaNetnsMode rdma_netns_mode(Socket& /*rdma*/) {
    return machine().mode;
}

std::vector<RdmaDevice> list_rdma_devices(Socket& rdma) {
    std::vector<RdmaDevice> devices;
    (void)find_rdma(machine().space_of(rdma), [&](const RdmaDevice& device) {
        devices.push_back(device);
        return false;
    });
    return devices;
}

std::optional<RdmaDevice> find_rdma_device(Socket& rdma, std::string_view name) {
    const auto* found =
        find_rdma(machine().space_of(rdma), [&](const RdmaDevice& device) { return device.name == name; });
    return found != nullptr ? std::optional(found->device) : std::nullopt;
}

std::optional<RdmaDevice> find_rdma_device(Socket& rdma, std::uint32_t index) {
    const auto* found = find_rdma(rdma, index);
    return found != nullptr ? std::optional(found->device) : std::nullopt;
}

std::vector<RdmaPort> list_rdma_ports(Socket& rdma, const RdmaDevice& device) {
    const auto* found = find_rdma(rdma, device.index);
    if (found == nullptr) return {};
    RdmaPort port{.device_index = device.index, .device = found->device.name, .port = 1, .state = found->state};
    port.physical_state = 5;
    for (const Netdev& each : machine().space_of(rdma).netdevs)
        if (each.link.parent_device == found->function && !each.link.is_infiniband()) {
            port.netdev_ifindex = each.link.ifindex;
            port.netdev_name = each.link.name;
        }
    return {port};
}

std::optional<RdmaPort> find_rdma_port(Socket& rdma, const Link& link, const std::vector<RdmaDevice>& devices) {
    const std::string function = fake::function_below(machine().space_of(rdma), link);
    for (const RdmaDevice& device : devices)
        if (const auto* found = find_rdma(rdma, device.index); found != nullptr && found->function == function)
            for (RdmaPort& port : list_rdma_ports(rdma, device)) return std::move(port);
    return std::nullopt;
}

std::optional<RdmaPort> find_rdma_port(Socket& rdma, const Link& link) {
    return find_rdma_port(rdma, link, list_rdma_devices(rdma));
}

std::optional<std::string> find_netdev_of_rdma_device(std::string_view device, const base::Deadline& /*deadline*/) {
    Space& here = machine().spaces.at(machine().current);
    const auto* found = find_rdma(here, [&](const RdmaDevice& each) { return each.name == device; });
    const auto names =
        found != nullptr ? netdevs_of(base::BusAddress::parse(found->function).value()) : std::vector<std::string>{};
    return names.empty() ? std::nullopt : std::optional(names.front());
}

bool is_rdma_device_movable(Socket& rdma, std::uint32_t index, const Netns& /*elsewhere*/) {
    const auto* found = find_rdma(rdma, index);
    return found == nullptr || found->is_movable;
}

void move_rdma_device(Socket& rdma, std::uint32_t index, const Netns& netns) {
    Space& from = machine().space_of(rdma);
    const auto* device = find_rdma(rdma, index);
    const std::uint64_t to = netns.id().inode;
    const std::string what = fmt::format("move RDMA {} to {}", device != nullptr ? device->device.name : "?",
                                         to == machine().host ? "host" : "pod");
    (void)machine().change(what);
    if (machine().mode == RdmaNetnsMode::shared) refuse(what, EOPNOTSUPP);
    if (device == nullptr || fake::number_of(from.file.get()) != machine().current) refuse(what, EINVAL);
    fake::Rdma moving = *device;
    std::erase_if(from.rdma, [&](const fake::Rdma& each) { return each.device.index == index; });
    const fake::Function& function = machine().function(moving.function);
    machine().spaces.at(to).rdma.push_back(moving);
    if (!function.is_infiniband) return;
    // The kernel destroys the IPoIB interface and makes another one on the host (ipoib_intf_init()).
    const unsigned before = function.rdma_count;
    auto& changed = machine().function(moving.function);
    for (auto& [number, space] : machine().spaces)
        std::erase_if(space.netdevs, [&](const Netdev& each) { return each.link.parent_device == moving.function; });
    changed.rdma_count = 0;
    machine().probe(moving.function);
    changed.rdma_count = before;
}

std::vector<unsigned> list_rdma_users(Socket& rdma, std::uint32_t index) {
    const auto* found = find_rdma(rdma, index);
    return found != nullptr ? found->users : std::vector<unsigned>{};
}

std::vector<KernelQueuePair> list_kernel_queue_pairs(Socket& rdma, std::uint32_t index) {
    std::vector<KernelQueuePair> pairs;
    if (const auto* found = find_rdma(rdma, index))
        for (const std::string& module : found->modules) pairs.push_back({.number = 1, .module = module});
    return pairs;
}

std::optional<std::string> find_uverbs(Socket& rdma, std::uint32_t index) {
    const auto* found = find_rdma(rdma, index);
    return found != nullptr ? std::optional(found->uverbs) : std::nullopt;
}

void rename_rdma_device(Socket& rdma, std::uint32_t index, std::string_view name) {
    auto* const found = find_rdma(rdma, index);
    const std::string what = fmt::format("rename RDMA {} to {}", found != nullptr ? found->device.name : "?", name);
    (void)machine().change(what);
    if (found == nullptr) refuse(what, EINVAL);
    for (auto& [number, space] : machine().spaces)
        for (const fake::Rdma& each : space.rdma)
            if (each.device.name == name && &each != found) refuse(what, EEXIST);
    found->device.name = name;
}

FoundGids find_gids(const RdmaPort& port, std::span<const base::IpAddress> addresses, const std::string& netdev,
                    const std::string& root) {
    FoundGids found{.entries = gids_of(port, root), .types = 2};
    std::erase_if(found.entries, [&](const GidEntry& entry) {
        return entry.netdev != netdev ||
               std::find(addresses.begin(), addresses.end(), entry.address) == addresses.end();
    });
    return found;
}

std::vector<GidEntry> list_gids(const RdmaPort& port, const std::string& root) {
    return gids_of(port, root);
}

GidTable read_gid_table(const RdmaPort& port, const std::string& root) {
    return {.length = 16, .used = gids_of(port, root).size(), .types = 2};
}

bool has_free_gids(const RdmaPort& port, std::size_t count, const std::string& root) {
    const GidTable table = read_gid_table(port, root);
    return table.length - table.used >= count;
}

std::vector<PkeyEntry> list_pkeys(const RdmaPort& /*port*/, const std::string& /*root*/) {
    return {{.index = 0, .pkey = 0xffff}, {.index = 1, .pkey = 0x8001}};
}

std::vector<RdmaFile> list_rdma_files(const std::string& /*root*/) {
    return {};
}

} // namespace rdmanet::kernel
