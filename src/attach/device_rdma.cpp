#include "device_rdma.hpp"

#include "rdma.hpp"
#include "rdma_choice.hpp"
#include "rdma_users.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/kernel/gid.hpp>
#include <rdmanet/kernel/netns_sysfs.hpp>

#include <algorithm>
#include <cerrno>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;
using kernel::RdmaNetnsMode;

[[noreturn]] void refuse_rdma(const std::string& why) {
    throw cni::CniError(cni::ErrorCode::rdma, why);
}

/// Whether the RDMA devices go along: what is asked for, else what the node's mode allows.
bool moves_rdma(const config::RdmaPolicy& policy, RdmaNetnsMode mode, const std::string& network) {
    const bool exclusive = mode == RdmaNetnsMode::exclusive;
    if (policy.isolation.value_or(exclusive) && !exclusive)
        refuse_rdma(
            concat("rdma netns mode is shared, network ", quoted(network),
                   " needs exclusive: run `rdma system set netns exclusive` before any pod starts, and keep it with "
                   "\"options ib_core netns_mode=0\" in /etc/modprobe.d"));
    if (exclusive && policy.demand == config::RdmaDemand::required && policy.isolation == false)
        refuse_rdma(concat("rdma netns mode is exclusive, network ", quoted(network),
                           " needs shared: run `rdma system set netns shared` before any pod starts"));
    return policy.isolation.value_or(exclusive);
}

void require_same_uverbs_in(const kernel::Netns& netns, const kernel::RdmaDevice& device,
                            const std::optional<std::string>& before, const base::Deadline& deadline) {
    auto inside = kernel::Socket::find_rdma_in(netns, deadline);
    const auto after = inside ? kernel::find_uverbs(*inside, device.index) : std::nullopt;
    if (before && after) require_same_uverbs(device.name, *before, *after, "when it moved");
}

std::optional<kernel::RdmaDevice> find_immovable(const RdmaDevices& devices, kernel::Socket& rdma,
                                                 const kernel::Netns& pod) {
    const auto found = std::find_if(devices.begin(), devices.end(), [&](const kernel::RdmaDevice& device) {
        return !kernel::is_rdma_device_movable(rdma, device.index, pod);
    });
    return found == devices.end() ? std::nullopt : std::optional(*found);
}

/// Whether a device of another namespace has the name is for the kernel to tell when it comes to it: by now all of a
/// machine share their names (ib_device_rename(), drivers/infiniband/core/device.c), which need not stay so.
void require_free_rdma_name(const DevicePlan& plan, const std::string& path, const kernel::Netns& pod,
                            const base::Deadline& deadline) {
    auto inside = plan.name_in_pod.empty() ? std::nullopt : kernel::Socket::find_rdma_in(pod, deadline);
    if (inside && kernel::find_rdma_device(*inside, plan.name_in_pod))
        refuse_rdma(concat("rdma.name: ", quoted(plan.name_in_pod), " is an RDMA device in ", path,
                           " already: give each of the pod's networks another name"));
}

void rename_in(const kernel::Netns& pod, const kernel::RdmaDevice& device, const std::string& name,
               const base::Deadline& deadline) try {
    auto inside = kernel::Socket::find_rdma_in(pod, deadline);
    if (inside && device.name != name) kernel::rename_rdma_device(*inside, device.index, name);
} catch (const kernel::NetlinkError& error) {
    if (error.errno_value() != EEXIST) throw;
    refuse_rdma(
        concat("rdma.name: ", quoted(name), " is the name of another RDMA device of this node, and this kernel ",
               "has each name once, whatever the namespace: use it in a network that each node has one pod of, ",
               "or remove it"));
}

/// Connections by RDMA CM are made between node GUIDs. An mlx5 VF has none before its PF has decided its MAC, and
/// takes one when it is probed (mlx5_eswitch_set_vport_mac(), drivers/net/ethernet/mellanox/mlx5/core/eswitch.c).
void warn_of_zero_guid(const DevicePlan& plan, const RdmaDevices& devices, const base::Logger& log) {
    if (!plan.vf || !plan.rebind_to.empty()) return;
    const auto zero = std::find_if(devices.begin(), devices.end(),
                                   [](const kernel::RdmaDevice& device) { return device.node_guid == 0; });
    if (zero == devices.end()) return;
    const kernel::VfId& vf = plan.vf->id;
    log.warn(concat("RDMA device ", quoted(zero->name), " of ", vf,
                    " has no node GUID, RDMA CM will not work on it: run ", "`ip link set ", vf.pf, " vf ", vf.number,
                    plan.is_infiniband() ? " node_guid" : " mac", " ...` and bind the driver of ", plan.address,
                    " anew before a pod gets it"));
}

std::optional<kernel::RdmaPort> first_port(kernel::Socket& rdma, const kernel::RdmaDevice& device) {
    const auto ports = kernel::list_rdma_ports(rdma, device);
    return ports.empty() ? std::nullopt : std::optional(ports.front());
}

/// The first, if none says that it is on the link: an address then has its GID nowhere, which is told of that one.
std::optional<kernel::RdmaPort> port_for_gids(kernel::Socket& rdma, const RdmaDevices& devices,
                                              const kernel::Link& link, const kernel::Netns* pod = nullptr) {
    auto port = find_port_of(rdma, devices, link, pod);
    return port || devices.empty() ? port : first_port(rdma, devices.front());
}

std::vector<kernel::GidEntry> gids_of(const kernel::RdmaPort& port, const kernel::Netns* pod) {
    if (pod == nullptr) return kernel::list_gids(port);
    const kernel::NetnsSysfs sysfs(*pod);
    return kernel::list_gids(port, sysfs.path("class/infiniband"));
}

/// The kernel tells the ports of Ethernet interfaces alone.
bool is_on(const kernel::RdmaPort& port, const kernel::Link& link, const kernel::Netns* pod) {
    const auto gid = link.port_gid();
    if (!gid) return port.netdev_ifindex == link.ifindex;
    const auto entries = gids_of(port, pod);
    return std::any_of(entries.begin(), entries.end(),
                       [&](const kernel::GidEntry& entry) { return entry.address == *gid; });
}

} // namespace

std::optional<kernel::RdmaPort> find_port_of(kernel::Socket& rdma, const RdmaDevices& devices, const kernel::Link& link,
                                             const kernel::Netns* pod) {
    std::vector<kernel::RdmaPort> ports;
    for (const kernel::RdmaDevice& device : devices)
        for (kernel::RdmaPort& port : kernel::list_rdma_ports(rdma, device)) ports.push_back(std::move(port));
    if (ports.size() == 1) return ports.front();
    const auto found =
        std::find_if(ports.begin(), ports.end(), [&](const kernel::RdmaPort& port) { return is_on(port, link, pod); });
    return found == ports.end() ? std::nullopt : std::optional(*found);
}

void require_same_uverbs(const std::string& device, const std::string& before, const std::string& after,
                         std::string_view when) {
    if (before == after) return;
    refuse_rdma(concat("RDMA device ", quoted(device), " became /dev/infiniband/", after, ' ', when, ", it was ",
                       before,
                       ", which is what the pod's container was given: delete the pod, so that the device plugin ",
                       "gives it the right one"));
}

std::vector<kernel::RdmaDevice> find_rdma_devices(const base::BusAddress& address, kernel::Socket& rdma) {
    std::vector<kernel::RdmaDevice> devices;
    for (const std::string& name : kernel::rdma_devices_of(address))
        if (auto device = kernel::find_rdma_device(rdma, name)) devices.push_back(*std::move(device));
    return devices;
}

RdmaDevices moved_devices(const state::AttachmentRecord& record) {
    RdmaDevices devices;
    for (const state::Step& step : record.steps)
        if (const auto* moved = std::get_if<state::MoveRdma>(&step))
            devices.push_back({.index = moved->index, .name = moved->name, .node_guid = moved->node_guid});
    return devices;
}

void require_mode(const config::RdmaPolicy& policy, const std::string& network, const base::Deadline& deadline) {
    if (policy.demand != config::RdmaDemand::required) return;
    auto rdma = kernel::Socket::find_rdma(deadline);
    if (!rdma) refuse_rdma("this kernel has no RDMA loaded: load the NIC's RDMA driver, e.g. `modprobe mlx5_ib`");
    (void)moves_rdma(policy, kernel::rdma_netns_mode(*rdma), network);
}

void find_rdma_of_device(DevicePlan& plan, const config::Config& config, const cni::Request& request,
                         kernel::Socket* rdma, const base::Logger& log) {
    const config::RdmaPolicy& policy = config.rdma;
    if (policy.demand == config::RdmaDemand::ignored) return;
    if (!plan.link && !config.is_rdma_only()) { // a driver for user space
        if (policy.demand == config::RdmaDemand::required)
            refuse_rdma(concat("device ", plan.address, " has driver ", quoted(kernel::driver_of(plan.address)),
                               ", which makes no RDMA device of it, network ", quoted(request.conf.name),
                               " asks for RDMA (\"rdma\"): bind it to its network driver, or remove \"rdma\""));
        return;
    }
    const auto devices = rdma != nullptr ? find_rdma_devices(plan.address, *rdma) : RdmaDevices{};
    if (devices.empty()) {
        const std::string why = concat("device ", plan.address, " has no RDMA device in the host's namespace");
        if (policy.demand == config::RdmaDemand::required)
            refuse_rdma(concat(why, ", network ", quoted(request.conf.name),
                               " asks for RDMA (\"rdma\"): load the NIC's RDMA driver, e.g. `modprobe mlx5_ib`, give "
                               "it back if another namespace has it, or remove \"rdma\""));
        log.debug(why);
        return;
    }
    warn_of_zero_guid(plan, devices, log);
    if (moves_rdma(policy, kernel::rdma_netns_mode(*rdma), request.conf.name))
        choose_rdma(plan, policy, devices);
    else
        plan.rdma = plan.link ? port_for_gids(*rdma, devices, *plan.link) : first_port(*rdma, devices.front());
}

void require_movable(DevicePlan& plan, const config::RdmaPolicy& policy, kernel::Socket& rdma,
                     const kernel::Netns& elsewhere, const base::Logger& log) {
    const auto fixed = find_immovable(plan.moving, rdma, elsewhere);
    if (!fixed) return;
    const std::string why = concat("RDMA device ", quoted(fixed->name), " can't move to another namespace, because ",
                                   "its driver doesn't take it away from its users");
    if (policy.demand == config::RdmaDemand::required)
        refuse_rdma(concat(why, ": use a driver that does, or \"rdma\": {\"mode\": \"shared\"} and ",
                           "`rdma system set netns shared` before any pod starts, or remove \"rdma\""));
    log.warn(concat(why, ": it stays on the host, and the pod has no RDMA"));
    plan.moving.clear();
}

void plan_rdma(DevicePlan& plan, const config::Config& config, const cni::Request& request, const kernel::Netns& pod,
               const base::Logger& log, const base::Deadline& deadline) {
    if (config.rdma.demand == config::RdmaDemand::ignored) return;
    auto rdma = kernel::Socket::find_rdma(deadline);
    find_rdma_of_device(plan, config, request, rdma ? &*rdma : nullptr, log);
    if (!rdma) return;
    require_movable(plan, config.rdma, *rdma, pod, log);
    for (const kernel::RdmaDevice& device : plan.moving) require_unused(*rdma, device);
    require_free_rdma_name(plan, request.netns_path, pod, deadline);
}

void wait_for_gids_in_pod(const config::RdmaPolicy& policy, const RdmaDevices& devices, const kernel::Netns& pod,
                          const kernel::Link& link, const std::vector<base::IpAddress>& addresses,
                          const base::Logger& log, const base::Deadline& deadline) {
    if (!policy.wait_for_gids || devices.empty() || addresses.empty()) return;
    auto inside = kernel::Socket::find_rdma_in(pod, deadline);
    const auto port = inside ? port_for_gids(*inside, devices, link, &pod) : std::nullopt;
    if (!port) return;
    const kernel::NetnsSysfs sysfs(pod);
    wait_for_gids(policy, *port, link.name, addresses, log, {}, sysfs.path("class/infiniband"));
}

std::vector<base::IpAddress> missing_gids_in_pod(const RdmaDevices& devices, const kernel::Netns& pod,
                                                 const kernel::Link& link,
                                                 const std::vector<base::IpAddress>& addresses,
                                                 const base::Deadline& deadline) {
    auto inside = kernel::Socket::find_rdma_in(pod, deadline);
    const auto port = inside ? port_for_gids(*inside, devices, link, &pod) : std::nullopt;
    if (!port) return addresses;
    const kernel::NetnsSysfs sysfs(pod);
    return missing_gids(*port, link.name, addresses, sysfs.path("class/infiniband"));
}

void move_rdma(const DevicePlan& plan, const state::AttachmentStore& records, const kernel::Netns& netns,
               const base::Deadline& deadline) {
    if (plan.moving.empty()) return;
    const base::FileLock lock = records.lock_rdma(deadline);
    kernel::Socket rdma = kernel::Socket::open(kernel::Protocol::rdma, deadline);
    for (const kernel::RdmaDevice& device : plan.moving) {
        const auto uverbs = kernel::find_uverbs(rdma, device.index);
        kernel::move_rdma_device(rdma, device.index, netns);
        require_same_uverbs_in(netns, device, uverbs, deadline);
        if (!plan.name_in_pod.empty()) rename_in(netns, device, plan.name_in_pod, deadline);
    }
}

} // namespace rdmanet::attach
