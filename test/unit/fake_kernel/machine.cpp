#include "shared.hpp"

#include <rdmanet/base/text.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

namespace rdmanet::kernel {
namespace fake {
namespace {

std::string text_of(const Netdev& netdev) {
    const Link& link = netdev.link;
    std::string text =
        fmt::format("{} {} {} mtu {}{}{}{} addrgenmode {} alias {} altnames {}", link.name, link.parent_device,
                    link.hardware_address_text(), link.mtu, link.is_up() ? " up" : "",
                    link.is_promiscuous() ? " promiscuous" : "", link.is_all_multicast() ? " allmulticast" : "",
                    link.ipv6_address_mode.value_or(9), base::quoted(link.alias), base::join(link.altnames));
    for (const auto& number :
         {link.tuning.group, link.tuning.transmit_queue_length, link.tuning.gso_max_size, link.tuning.gso_max_segments,
          link.tuning.gro_max_size, link.tuning.gso_ipv4_max_size, link.tuning.gro_ipv4_max_size})
        text += fmt::format(" {}", number.value_or(0));
    for (const auto& [file, value] : netdev.files) text += fmt::format(" {}={}", file, value);
    for (const std::uint32_t word : netdev.features.wanted) text += fmt::format(" wanted {:x}", word);
    for (const XdpProgram& program : link.xdp) text += fmt::format(" xdp {}", program.id);
    return text + (netdev.has_ipv6 ? "" : " no IPv6") + "\n";
}

std::vector<unsigned char> infiniband_address(const base::Guid& guid) {
    std::vector<unsigned char> bytes(20);
    bytes[4] = 0xfe;
    bytes[5] = 0x80;
    for (unsigned at = 0; at < 8; ++at) bytes[12 + at] = static_cast<unsigned char>(guid.value() >> (56 - 8 * at));
    return bytes;
}

} // namespace

std::uint64_t number_of(int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) throw std::logic_error("no such namespace");
    return status.st_ino;
}

base::UniqueFd copy_of(const base::UniqueFd& fd) {
    return base::UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
}

void refuse(std::string_view what, int why) {
    throw NetlinkError(what, why, {});
}

std::string function_below(const Space& space, const Link& link) {
    if (!link.parent_device.empty()) return link.parent_device;
    for (const Space* each : {&space, static_cast<const Space*>(&machine().spaces.at(machine().host))})
        for (const Netdev& other : each->netdevs)
            if (link.is_child_of(other.link.ifindex)) return other.link.parent_device;
    return {};
}

Function* find_function(const std::string& address) {
    const auto found = machine().functions.find(address);
    return found == machine().functions.end() ? nullptr : &found->second;
}

Netdev& need(Space& space, unsigned ifindex, std::string_view what) {
    if (auto* found = machine().find(space, [&](const Link& link) { return link.ifindex == ifindex; })) return *found;
    refuse(what, ENODEV);
}

std::string name_of(Space& space, unsigned ifindex) {
    const auto* found = machine().find(space, [&](const Link& link) { return link.ifindex == ifindex; });
    return (space.path.starts_with("/proc/1/") ? "" : "pod's ") + (found != nullptr ? found->link.name : "?");
}

Machine& machine() {
    static Machine one;
    return one;
}

Machine::Machine() {
    host = current = add_netns("/proc/1/ns/net");
}

std::uint64_t Machine::add_netns(const std::string& path) {
    base::UniqueFd file(::memfd_create("netns", MFD_CLOEXEC));
    const std::uint64_t number = number_of(file.get());
    spaces.emplace(number, Space{.file = std::move(file), .path = path, .cookie = next_cookie++});
    return number;
}

Netdev& Machine::netdev(const std::string& name, std::uint64_t in) {
    if (auto* found = find(spaces.at(in == 0 ? host : in), [&](const Link& link) { return link.name == name; }))
        return *found;
    throw std::logic_error("no interface " + name);
}

Rdma& Machine::rdma(const std::string& name, std::uint64_t in) {
    for (Rdma& each : spaces.at(in == 0 ? host : in).rdma)
        if (each.device.name == name) return each;
    throw std::logic_error("no RDMA device " + name);
}

Netdev* Machine::find(Space& space, const std::function<bool(const Link&)>& is_meant) {
    const auto found = std::find_if(space.netdevs.begin(), space.netdevs.end(),
                                    [&](const Netdev& each) { return is_meant(each.link); });
    return found == space.netdevs.end() ? nullptr : &*found;
}

bool Machine::is_taken(std::uint64_t in, const std::string& name, unsigned except) {
    return find(spaces.at(in), [&](const Link& link) {
               return link.ifindex != except &&
                      (link.name == name ||
                       std::find(link.altnames.begin(), link.altnames.end(), name) != link.altnames.end());
           }) != nullptr;
}

Space& Machine::space_of(Socket& socket) {
    for (auto& [number, space] : spaces)
        if (space.cookie == socket.netns_cookie()) return space;
    throw std::logic_error("a socket of a namespace that has ended");
}

bool Machine::change(const std::string& what) {
    changes.push_back(what);
    if (const int why = fails ? fails(changes.size(), what) : 0; why != 0) refuse(what, why);
    return std::none_of(ignores.begin(), ignores.end(),
                        [&](const std::string& words) { return what.find(words) != std::string::npos; });
}

Function& Machine::add_function(const std::string& address, Function function) {
    if (function.native.empty()) function.native = "mlx5_core";
    function.driver = function.native;
    Function& added = functions.insert_or_assign(address, std::move(function)).first->second;
    probe(address);
    return added;
}

Netdev& Machine::add_virtual(const std::string& name, const std::string& kind) {
    Link link{.ifindex = next_ifindex++, .name = name, .kind = kind, .hardware_type = 1};
    link.hardware_address = {2, 0, 0, 0, 0, static_cast<unsigned char>(link.ifindex)};
    link.flags = kUp;
    link.mtu = 1500;
    link.ipv6_address_mode = 0;
    link.tuning.transmit_queue_length = 1000;
    link.tuning.gso_max_size = 65536;
    return spaces.at(host).netdevs.emplace_back(Netdev{.link = std::move(link)});
}

void Machine::probe(const std::string& address) {
    Function& function = functions.at(address);
    if (function.driver != function.native) return;
    const auto& of = function.vf_of;
    const VfSettings settings = of ? functions.at(of->pf.to_string()).vfs[of->number] : VfSettings{};
    const base::Guid guid = settings.port_guid.value_or(base::Guid(0xabc0000000000000U + functions.size()));
    Space& space = spaces.at(host);
    if (!function.netdev.empty()) {
        const unsigned ifindex = next_ifindex++;
        std::string name = function.netdev;
        if (is_taken(host, name)) name = fmt::format("dev{}", ifindex);
        Link link{.ifindex = ifindex, .name = name, .hardware_type = 1};
        const bool has_mac = settings.mac && !settings.mac->is_zero();
        const auto mac = has_mac ? settings.mac : base::MacAddress::parse(function.mac);
        if (mac) link.hardware_address.assign(mac->bytes().begin(), mac->bytes().end());
        if (function.is_infiniband) {
            link.kind = of ? "" : "ipoib";
            link.hardware_type = 32;
            link.hardware_address = infiniband_address(guid);
            link.ipoib = Ipoib{.pkey = 0xffff, .mode = IpoibMode::datagram};
        }
        link.mtu = function.is_infiniband ? 2044 : 1500;
        link.ipv6_address_mode = 0;
        link.tuning.transmit_queue_length = 1000;
        link.tuning.gso_max_size = 65536;
        link.parent_device = address;
        space.netdevs.push_back({.link = std::move(link),
                                 .files = {{"gro_flush_timeout", "0"}},
                                 .features = {.changeable = {7}, .wanted = {5}, .active = {5}}});
    }
    for (unsigned at = 0; at < function.rdma_count; ++at) {
        const unsigned index = next_rdma++;
        const auto is_used = [&](const std::string& text) {
            return std::any_of(spaces.begin(), spaces.end(), [&](const auto& each) {
                return std::any_of(each.second.rdma.begin(), each.second.rdma.end(), [&](const Rdma& other) {
                    return other.device.name == text || other.uverbs == text;
                });
            });
        };
        const auto lowest = [&](std::string_view prefix) {
            unsigned number = 0;
            while (is_used(fmt::format("{}{}", prefix, number))) ++number;
            return fmt::format("{}{}", prefix, number);
        };
        const std::uint64_t node_guid = settings.node_guid ? settings.node_guid->value() : guid.value() + 0x100;
        space.rdma.push_back({.device = {.index = index,
                                         .name = lowest("mlx5_"),
                                         .node_guid = node_guid,
                                         .port_count = 1,
                                         .protocol = function.is_infiniband ? "ib" : "roce"},
                              .function = address,
                              .uverbs = lowest("uverbs")});
    }
}

void Machine::remove_made(const std::string& address) {
    for (auto& [number, space] : spaces) {
        std::erase_if(space.netdevs, [&](const Netdev& each) { return each.link.parent_device == address; });
        std::erase_if(space.rdma, [&](const Rdma& each) { return each.function == address; });
    }
}

void Machine::end_netns(std::uint64_t number) {
    Space ending = std::move(spaces.at(number));
    spaces.erase(number);
    Space& home = spaces.at(host);
    for (Netdev& each : ending.netdevs) {
        if (each.link.parent_device.empty() && each.link.kind != "ipoib") continue;
        each.link.flags &= ~kUp;
        each.link.parent_netnsid.reset();
        if (is_taken(host, each.link.name)) each.link.name = fmt::format("dev{}", each.link.ifindex);
        each.addresses.clear();
        home.netdevs.push_back(std::move(each));
    }
    for (Rdma& each : ending.rdma) home.rdma.push_back(std::move(each));
}

std::string Machine::text() const {
    std::vector<std::string> lines;
    for (const auto& [number, space] : spaces) {
        const std::string where = space.path + ": ";
        for (const Netdev& each : space.netdevs) lines.push_back(where + text_of(each));
        for (const Rdma& each : space.rdma)
            lines.push_back(fmt::format("{}RDMA {} of {}\n", where, each.device.name, each.function));
    }
    for (const auto& [address, function] : functions) {
        lines.push_back(fmt::format("{} driver {}\n", address, function.driver));
        for (const auto& [vf, settings] : function.vfs)
            lines.push_back(fmt::format("{} vf {} {}\n", address, vf, settings));
    }
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (const std::string& line : lines) text += line;
    return text;
}

} // namespace fake

} // namespace rdmanet::kernel
