#include "machine.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/address_probe.hpp>
#include <rdmanet/kernel/device_search.hpp>
#include <rdmanet/kernel/gid.hpp>
#include <rdmanet/kernel/netns_sysfs.hpp>
#include <rdmanet/kernel/pkey.hpp>
#include <rdmanet/kernel/rdma_files.hpp>
#include <rdmanet/kernel/sysctl.hpp>

#include <fcntl.h>
#include <linux/if.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

namespace rdmanet::kernel {
namespace fake {
namespace {

std::uint64_t number_of(int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) throw std::logic_error("no such namespace");
    return status.st_ino;
}

base::UniqueFd copy_of(const base::UniqueFd& fd) {
    return base::UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
}

[[noreturn]] void refuse(std::string_view what, int why) {
    throw NetlinkError(what, why, {});
}

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

/// The function that a link is of, or whose link its parent is.
std::string function_below(const Space& space, const Link& link) {
    if (!link.parent_device.empty()) return link.parent_device;
    for (const Space* each : {&space, static_cast<const Space*>(&machine().spaces.at(machine().host))})
        for (const Netdev& other : each->netdevs)
            if (link.is_child_of(other.link.ifindex)) return other.link.parent_device;
    return {};
}

} // namespace

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

using fake::machine;
using fake::Netdev;
using fake::refuse;
using fake::Space;

// Namespaces and sockets.

Netns Netns::current() {
    return Netns(fake::copy_of(machine().spaces.at(machine().current).file));
}

std::optional<Netns> find_netns(const std::string& path) {
    if (!machine().hidden.contains(path))
        for (const auto& [number, space] : machine().spaces)
            if (space.path == path) return Netns(fake::copy_of(space.file));
    return std::nullopt;
}

Netns get_netns(const std::string& path) {
    if (auto found = find_netns(path)) return *std::move(found);
    throw base::SystemError(fmt::format("open network namespace {}", base::quoted(path)), ENOENT);
}

std::optional<Netns> find_other_netns() {
    for (const auto& [number, space] : machine().spaces)
        if (number != machine().current) return Netns(fake::copy_of(space.file));
    return std::nullopt;
}

std::vector<std::string> list_other_netns(const std::string& directory, const Netns& known) {
    std::vector<std::string> paths;
    for (const auto& [number, space] : machine().spaces)
        if (number != known.id().inode && space.path.starts_with(directory + "/")) paths.push_back(space.path);
    return paths;
}

std::uint64_t netns_cookie(const Netns& netns) {
    return machine().spaces.at(netns.id().inode).cookie;
}

std::uint64_t netns_cookie_of_socket(int fd) {
    const auto found = machine().spaces.find(machine().sockets.at(fd));
    return found == machine().spaces.end() ? 0 : found->second.cookie;
}

NetnsScope::NetnsScope(const Netns& target) : home_(fake::copy_of(machine().spaces.at(machine().current).file)) {
    machine().current = target.id().inode;
}

NetnsScope::~NetnsScope() {
    machine().current = fake::number_of(home_.get());
}

LiveNetns list_live_netns(const std::string& /*proc*/) {
    if (machine().on_look) machine().on_look();
    LiveNetns living{.paths = {}, .doubt = machine().doubt};
    for (const auto& [number, space] : machine().spaces)
        living.paths[number] = machine().hidden.contains(space.path) ? "/proc/77/ns/net" : space.path;
    return living;
}

NetnsSysfs::NetnsSysfs(const Netns& netns) : mount_(fake::copy_of(machine().spaces.at(netns.id().inode).file)) {}

std::string NetnsSysfs::path(std::string_view /*directory*/) const {
    return std::to_string(fake::number_of(mount_.get()));
}

std::optional<base::UniqueFd> Socket::open_fd(Protocol protocol) {
    if (protocol == Protocol::rdma && !machine().has_rdma) return std::nullopt;
    base::UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    machine().sockets[fd.get()] = machine().current;
    return fd;
}

// Links.

namespace {

Netdev& need(Space& space, unsigned ifindex, std::string_view what) {
    if (auto* found = machine().find(space, [&](const Link& link) { return link.ifindex == ifindex; })) return *found;
    refuse(what, ENODEV);
}

std::string name_of(Space& space, unsigned ifindex) {
    const auto* found = machine().find(space, [&](const Link& link) { return link.ifindex == ifindex; });
    return (space.path.starts_with("/proc/1/") ? "" : "pod's ") + (found != nullptr ? found->link.name : "?");
}

std::string text_of(const LinkChange& change) {
    std::string text;
    const auto add = [&](std::string_view key, const auto& value) {
        if (value) text += fmt::format(" {} {}", key, *value);
    };
    if (change.netns != nullptr) text += change.netns->id().inode == machine().host ? " to host" : " to pod";
    add("name", change.name);
    add("mac", change.mac);
    add("mtu", change.mtu);
    if (change.state) text += *change.state == AdminState::up ? " up" : " down";
    add("promiscuous", change.promiscuous);
    add("allmulticast", change.all_multicast);
    add("addrgenmode", change.ipv6_address_mode);
    if (change.alias) text += fmt::format(" alias {}", change.alias->substr(0, change.alias->find(' ')));
    add("group", change.tuning.group);
    add("txqueuelen", change.tuning.transmit_queue_length);
    add("gso_max_size", change.tuning.gso_max_size);
    return text;
}

void set_flag(Link& link, unsigned flag, bool on) {
    link.flags = on ? link.flags | flag : link.flags & ~flag;
}

template <class Value>
void assign(std::optional<Value>& to, const std::optional<Value>& from) {
    if (from) to = from;
}

/// __dev_change_net_namespace(), net/core/dev.c.
Netdev& move(Space& from, unsigned ifindex, const LinkChange& change, std::string_view what) {
    const std::uint64_t to = change.netns->id().inode;
    Netdev& here = need(from, ifindex, what);
    if (machine().is_taken(to, here.link.name)) {
        if (!change.name || machine().is_taken(to, change.name->to_string())) refuse(what, EEXIST);
        here.link.name = change.name->to_string();
    }
    for (const std::string& altname : here.link.altnames)
        if (machine().is_taken(to, altname)) refuse(what, EEXIST);
    Netdev moving = std::move(here);
    std::erase_if(from.netdevs, [&](const Netdev& each) { return &each == &here; });
    if (machine().find(machine().spaces.at(to), [&](const Link& link) { return link.ifindex == ifindex; }))
        moving.link.ifindex = machine().next_ifindex++;
    set_flag(moving.link, fake::kUp, false);
    moving.addresses.clear();
    moving.link.ipv6_address_mode = 0;
    return machine().spaces.at(to).netdevs.emplace_back(std::move(moving));
}

template <class Meant>
std::optional<Link> look_up(Socket& socket, const Meant& is_meant) {
    const auto* found = machine().find(machine().space_of(socket), is_meant);
    return found != nullptr ? std::optional(found->link) : std::nullopt;
}

} // namespace

std::optional<Link> find_link_by_altname(Socket& socket, std::string_view altname) {
    if (machine().on_find) machine().on_find(altname);
    return look_up(socket, [&](const Link& link) {
        return link.name == altname ||
               std::find(link.altnames.begin(), link.altnames.end(), altname) != link.altnames.end();
    });
}

std::optional<Link> find_link(Socket& socket, const base::InterfaceName& name) {
    return find_link_by_altname(socket, name.to_string());
}

std::optional<Link> find_link(Socket& socket, unsigned ifindex) {
    return look_up(socket, [&](const Link& link) { return link.ifindex == ifindex; });
}

std::vector<Link> list_links(Socket& socket, std::optional<unsigned> master_ifindex) {
    std::vector<Link> links;
    for (const Netdev& each : machine().space_of(socket).netdevs)
        if (!master_ifindex || each.link.master_ifindex == master_ifindex) links.push_back(each.link);
    return links;
}

std::vector<Link> list_lower_links(Socket& socket, const std::vector<Link>& uppers) {
    std::vector<Link> links;
    for (const Netdev& each : machine().space_of(socket).netdevs)
        for (const Link& upper : uppers)
            if (upper.parent_ifindex == each.link.ifindex || each.link.master_ifindex == upper.ifindex)
                links.push_back(each.link);
    return links;
}

void add_link(Socket& socket, const ChildSpec& child) {
    Space& from = machine().space_of(socket);
    const std::string kind = std::visit([](const auto& each) { return to_string(each); }, child.kind);
    const std::string what =
        fmt::format("add {} on {}: {}{}", child.name, name_of(from, child.parent_ifindex), kind, child.up ? " up" : "");
    (void)machine().change(what);
    Link link = need(from, child.parent_ifindex, what).link;
    const std::uint64_t to = child.netns != nullptr ? child.netns->id().inode : machine().current;
    if (machine().is_taken(to, child.name.to_string())) refuse(what, EEXIST);
    if (child.ifindex == 0 &&
        machine().find(from, [&](const Link& each) { return each.name == child.name.to_string(); }))
        refuse(what, EEXIST);
    link.parent_ifindex = link.ifindex;
    if (&from != &machine().spaces.at(to)) link.parent_netnsid = 0;
    link.ifindex = child.ifindex != 0 ? child.ifindex : machine().next_ifindex++;
    link.name = child.name.to_string();
    link.kind = kind.substr(0, kind.find(' '));
    link.altnames.clear();
    link.alias.clear();
    link.parent_device.clear();
    set_flag(link, fake::kUp, child.up);
    link.macvlan.reset();
    if (const auto* macvlan = std::get_if<Macvlan>(&child.kind)) link.macvlan = *macvlan;
    if (const auto* ipvlan = std::get_if<Ipvlan>(&child.kind)) link.ipvlan = *ipvlan;
    if (const auto* ipoib = std::get_if<Ipoib>(&child.kind)) link.ipoib = *ipoib;
    if (link.ipoib) link.hardware_address[3] = static_cast<unsigned char>(link.ifindex); // its queue pair
    if (child.mac) link.hardware_address.assign(child.mac->bytes().begin(), child.mac->bytes().end());
    if (!link.ipoib) link.mtu = child.mtu.value_or(link.mtu);
    machine().spaces.at(to).netdevs.push_back({.link = std::move(link)});
}

Removed remove_link(Socket& socket, unsigned ifindex) {
    Space& space = machine().space_of(socket);
    (void)machine().change(fmt::format("remove {}", name_of(space, ifindex)));
    return std::erase_if(space.netdevs, [&](const Netdev& each) { return each.link.ifindex == ifindex; }) != 0
               ? Removed::yes
               : Removed::was_absent;
}

void change_link(Socket& socket, unsigned ifindex, const LinkChange& change) {
    Space& from = machine().space_of(socket);
    const std::string what = fmt::format("set {}{}", name_of(from, ifindex), text_of(change));
    if (!machine().change(what)) return;
    Netdev& netdev = change.netns != nullptr ? move(from, ifindex, change, what) : need(from, ifindex, what);
    const std::uint64_t in = change.netns != nullptr ? change.netns->id().inode : fake::number_of(from.file.get());
    Link& link = netdev.link;
    if (change.name && link.name != change.name->to_string()) {
        if (machine().is_taken(in, change.name->to_string())) refuse(what, EEXIST);
        link.name = change.name->to_string();
    }
    if (change.mac) link.hardware_address.assign(change.mac->bytes().begin(), change.mac->bytes().end());
    if (change.mtu) link.mtu = *change.mtu;
    if (change.state) set_flag(link, fake::kUp, *change.state == AdminState::up);
    if (change.promiscuous) set_flag(link, IFF_PROMISC, *change.promiscuous);
    if (change.all_multicast) set_flag(link, IFF_ALLMULTI, *change.all_multicast);
    assign(link.ipv6_address_mode, change.ipv6_address_mode);
    if (change.alias) link.alias = *change.alias;
    assign(link.tuning.group, change.tuning.group);
    assign(link.tuning.transmit_queue_length, change.tuning.transmit_queue_length);
    assign(link.tuning.gso_max_size, change.tuning.gso_max_size);
    assign(link.tuning.gso_max_segments, change.tuning.gso_max_segments);
    assign(link.tuning.gro_max_size, change.tuning.gro_max_size);
    assign(link.tuning.gso_ipv4_max_size, change.tuning.gso_ipv4_max_size);
    assign(link.tuning.gro_ipv4_max_size, change.tuning.gro_ipv4_max_size);
}

void announce_ipv4_when_up(Socket& /*socket*/, unsigned /*ifindex*/) {}

void detach_xdp(Socket& socket, unsigned ifindex, const XdpProgram& program) {
    Space& space = machine().space_of(socket);
    if (machine().change(fmt::format("set {} without XDP {}", name_of(space, ifindex), program.id)))
        std::erase(need(space, ifindex, "detach XDP").link.xdp, program);
}

void add_altname(Socket& socket, unsigned ifindex, std::string_view altname) {
    Space& space = machine().space_of(socket);
    const std::string what = fmt::format("set {} altname {}", name_of(space, ifindex), altname);
    (void)machine().change(what);
    if (machine().is_taken(fake::number_of(space.file.get()), std::string(altname))) refuse(what, EEXIST);
    need(space, ifindex, what).link.altnames.emplace_back(altname);
}

void remove_altname(Socket& socket, unsigned ifindex, std::string_view altname) {
    Space& space = machine().space_of(socket);
    const std::string what = fmt::format("set {} without altname {}", name_of(space, ifindex), altname);
    (void)machine().change(what);
    std::erase(need(space, ifindex, what).link.altnames, altname);
}

// Addresses, routes, sysctls, what ethtool and sysfs show of links.

std::vector<Address> list_addresses(Socket& socket, unsigned ifindex) {
    return need(machine().space_of(socket), ifindex, "list addresses").addresses;
}

void add_address(Socket& socket, unsigned ifindex, const base::IpPrefix& prefix, Dad /*dad*/) {
    Space& space = machine().space_of(socket);
    const std::string what = fmt::format("add {} to {}", prefix, name_of(space, ifindex));
    if (machine().change(what)) need(space, ifindex, what).addresses.push_back({.prefix = prefix});
}

void add_route(Socket& socket, const Route& route) {
    if (machine().change(fmt::format("add route {}", route.destination)))
        machine().space_of(socket).routes.push_back(route);
}

std::vector<Route> list_routes(Socket& socket, const RouteFilter& filter) {
    std::vector<Route> routes = machine().space_of(socket).routes;
    std::erase_if(routes, [&](const Route& route) {
        return (filter.family && route.destination.family() != *filter.family) ||
               (filter.ifindex && route.ifindex != *filter.ifindex) || (filter.table && route.table != *filter.table);
    });
    return routes;
}

std::optional<Route> find_default_route(Socket& socket, base::Family family) {
    for (const Route& route : list_routes(socket, {.family = family, .ifindex = {}, .table = kMainTable}))
        if (route.destination.is_default_route()) return route;
    return std::nullopt;
}

std::optional<int> find_sysctl(const base::InterfaceName& interface, Sysctl /*sysctl*/) {
    const auto* found = machine().find(machine().spaces.at(machine().current),
                                       [&](const Link& link) { return link.name == interface.to_string(); });
    return found != nullptr ? std::optional(found->has_ipv6 ? 0 : 1) : std::nullopt;
}

Written write_sysctl(const base::InterfaceName& interface, Sysctl /*sysctl*/, int value) {
    if (machine().change(fmt::format("set {} disable_ipv6 {}", interface, value)))
        machine().netdev(interface.to_string(), machine().current).has_ipv6 = value == 0;
    return Written::yes;
}

void announce_ipv6_changes(const Netns& /*netns*/, const base::InterfaceName& /*interface*/) {}
void enable_ipv6(const Netns& /*netns*/, const base::InterfaceName& /*interface*/) {}
Written enable_optimistic_detection(const Netns& /*netns*/, const base::InterfaceName& /*interface*/) {
    return Written::yes;
}

NetdevFilesRead read_netdev_files(const base::InterfaceName& interface) {
    return {.files = machine().netdev(interface.to_string(), machine().current).files, .unreadable = {}};
}

void write_netdev_file(const base::InterfaceName& interface, const std::string& file, const std::string& value) {
    if (machine().change(fmt::format("set {} {}={}", interface, file, value)))
        machine().netdev(interface.to_string(), machine().current).files[file] = value;
}

std::optional<Ethtool> Ethtool::find(const base::Deadline& deadline) {
    return Ethtool(Socket::open(Protocol::generic, deadline), 0);
}

std::optional<Features> Ethtool::find_features(unsigned ifindex) {
    return need(machine().space_of(socket_), ifindex, "find features").features;
}

void Ethtool::want_features(unsigned ifindex, const FeatureSet& wanted, const FeatureSet& which) {
    Space& space = machine().space_of(socket_);
    if (!machine().change(fmt::format("set {} features {:x}", name_of(space, ifindex), which.at(0)))) return;
    Features& features = need(space, ifindex, "want features").features;
    for (FeatureSet* set : {&features.wanted, &features.active})
        set->at(0) = (set->at(0) & ~which.at(0)) | (wanted.at(0) & which.at(0));
}

std::string Ethtool::names_of(unsigned /*ifindex*/, const FeatureSet& features) {
    return fmt::format("feature-{:x}", features.at(0));
}

AddressProber::AddressProber(const Netns& /*netns*/, unsigned ifindex, const base::MacAddress& mac)
    : ifindex_(ifindex), mac_(mac) {}
std::optional<AddressHolder> AddressProber::find_holder(std::span<const base::IpAddress> /*addresses*/,
                                                        const base::Deadline& /*deadline*/) const {
    return std::nullopt;
}
void AddressProber::announce(std::span<const base::IpAddress> /*addresses*/) const {}

// Devices and drivers.

namespace {

fake::Function* find_function(const std::string& address) {
    const auto found = machine().functions.find(address);
    return found == machine().functions.end() ? nullptr : &found->second;
}

std::vector<std::string> rdma_names_in(std::uint64_t number, const std::string& address) {
    std::vector<std::string> names;
    for (const auto& [each, space] : machine().spaces)
        if (each == number || machine().mode == RdmaNetnsMode::shared)
            for (const fake::Rdma& rdma : space.rdma)
                if (rdma.function == address) names.push_back(rdma.device.name);
    return names;
}

} // namespace

bool device_exists(const base::BusAddress& address) {
    return find_function(address.to_string()) != nullptr;
}
std::optional<VfOf> find_pf_of(const base::PciAddress& address) {
    const auto* found = find_function(address.to_string());
    return found != nullptr ? found->vf_of : std::nullopt;
}
std::vector<base::PciAddress> list_vfs() {
    std::vector<base::PciAddress> vfs;
    for (const auto& [address, function] : machine().functions)
        if (function.vf_of) vfs.push_back(base::PciAddress::parse(address).value());
    return vfs;
}
std::optional<base::PciAddress> find_vf_address(const VfOf& vf) {
    for (const base::PciAddress& address : list_vfs())
        if (const auto of = find_pf_of(address); of->pf == vf.pf && of->number == vf.number) return address;
    return std::nullopt;
}
unsigned count_vfs_of(const base::BusAddress& address) {
    const auto* found = find_function(address.to_string());
    return found != nullptr ? static_cast<unsigned>(found->vfs.size()) : 0;
}
std::string driver_of(const base::BusAddress& address) {
    const auto* found = find_function(address.to_string());
    return found != nullptr ? found->driver : std::string();
}
bool is_driver_module(std::string_view name) {
    return name == "mlx5_core";
}
bool driver_exists(const base::BusAddress& /*of*/, const std::string& driver) {
    return machine().drivers.contains(driver);
}
void unbind(const base::BusAddress& address) {
    auto* const function = find_function(address.to_string());
    if (function->driver.empty()) return;
    (void)machine().change(fmt::format("unbind {}", address));
    function->driver.clear();
    machine().remove_made(address.to_string());
}
void bind(const base::BusAddress& address, const std::string& driver) {
    (void)machine().change(fmt::format("bind {} to {}", address, driver));
    auto* const function = find_function(address.to_string());
    if (!function->driver.empty()) throw base::SystemError("bind", EBUSY);
    function->driver = driver;
    machine().probe(address.to_string());
}
void bind_anew(const base::BusAddress& address, const std::string& driver) {
    unbind(address);
    bind(address, driver);
}
Resettable resettable(const base::BusAddress& address) {
    return machine().function(address.to_string()).resettable;
}
void reset(const base::BusAddress& address) {
    (void)machine().change(fmt::format("reset {}", address));
    if (!driver_of(address).empty()) throw std::logic_error("a reset under a driver");
    ++machine().function(address.to_string()).resets;
}
std::optional<base::BusAddress> bus_address_of(const std::string& parent_device) {
    return base::BusAddress::parse(parent_device);
}
std::vector<std::string> netdevs_of(const base::BusAddress& address) {
    std::vector<std::string> names;
    for (const Netdev& each : machine().spaces.at(machine().current).netdevs)
        if (each.link.parent_device == address.to_string()) names.push_back(each.link.name);
    return names;
}
std::vector<std::string> rdma_devices_of(const base::BusAddress& address) {
    return rdma_names_in(machine().current, address.to_string());
}
std::vector<std::string> rdma_devices_of(const base::BusAddress& address, const NetnsSysfs& sysfs) {
    return rdma_names_in(std::stoull(sysfs.path({})), address.to_string());
}
std::map<unsigned, std::string> representors_of(const base::PciAddress& pf) {
    const auto* found = find_function(pf.to_string());
    return found != nullptr ? found->representors : std::map<unsigned, std::string>{};
}
std::optional<std::string> uplink_of(const base::PciAddress& pf) {
    const auto names = netdevs_of(pf);
    return names.empty() ? std::nullopt : std::optional(names.front());
}

std::vector<ElsewhereDevice> list_devices_elsewhere() {
    std::vector<ElsewhereDevice> devices;
    for (const auto& [address, function] : machine().functions) {
        ElsewhereDevice device{.address = base::BusAddress::parse(address).value()};
        for (const auto& [number, space] : machine().spaces) {
            if (number == machine().current) continue;
            for (const Netdev& each : space.netdevs) device.net = device.net || each.link.parent_device == address;
            for (const fake::Rdma& each : space.rdma) device.rdma = device.rdma || each.function == address;
        }
        if (device.net || device.rdma) devices.push_back(device);
    }
    return devices;
}

std::vector<ElsewhereDevice> subtract_devices_in(const std::vector<std::string>& netns_paths,
                                                 std::vector<ElsewhereDevice> devices) {
    for (ElsewhereDevice& device : devices)
        for (const auto& [number, space] : machine().spaces) {
            if (std::find(netns_paths.begin(), netns_paths.end(), space.path) == netns_paths.end()) continue;
            for (const Netdev& each : space.netdevs)
                if (each.link.parent_device == device.address.to_string()) device.net = false;
            for (const fake::Rdma& each : space.rdma)
                if (each.function == device.address.to_string()) device.rdma = false;
        }
    std::erase_if(devices, [](const ElsewhereDevice& device) { return !device.net && !device.rdma; });
    return devices;
}

std::vector<HeldNetns> list_held_netns(const LiveNetns& /*living*/, const std::string& /*proc*/) {
    return {};
}

// VFs.

namespace {

fake::Function* find_pf(Socket& route, unsigned ifindex) {
    const auto link = find_link(route, ifindex);
    return link ? find_function(link->parent_device) : nullptr;
}

template <class Value>
std::string change_text(const VfId& vf, const Value& settings) {
    return fmt::format("set {} vf {} {}", vf.pf, vf.number, settings);
}

} // namespace

std::optional<VfSettings> find_vf(Socket& route, const VfId& vf) {
    const auto* pf = find_pf(route, vf.pf_ifindex);
    return pf != nullptr && pf->vfs.contains(vf.number) ? std::optional(pf->vfs.at(vf.number)) : std::nullopt;
}

std::optional<PfWithVf> find_pf_with_vf(Socket& route, const base::InterfaceName& pf, unsigned number) {
    const auto link = find_link(route, pf);
    if (!link) return std::nullopt;
    return PfWithVf{.pf = *link,
                    .vf = find_vf(route, {.pf_ifindex = link->ifindex, .pf = link->name, .number = number})};
}

std::vector<ReportedVf> list_reported_vfs(Socket& /*route*/) {
    std::vector<ReportedVf> reported;
    for (const auto& [address, function] : machine().functions)
        for (const auto& [number, settings] : function.vfs)
            reported.push_back(
                {.of = VfOf{.pf = base::PciAddress::parse(address).value(), .number = number}, .settings = settings});
    return reported;
}

void change_vf(Socket& route, const VfId& vf, const VfSettings& wanted) {
    for (const VfSettings& each : each_of(wanted)) {
        if (!machine().change(change_text(vf, each))) continue;
        VfSettings& now = find_pf(route, vf.pf_ifindex)->vfs.at(vf.number);
        assign(now.mac, each.mac);
        assign(now.vlan, each.vlan);
        assign(now.rates, each.rates);
        assign(now.spoof_check, each.spoof_check);
        assign(now.trust, each.trust);
        assign(now.link_state, each.link_state);
        assign(now.node_guid, each.node_guid);
        assign(now.port_guid, each.port_guid);
    }
}

VfSettings without_port_speed(const VfSettings& present, const VfId& /*vf*/) {
    return present;
}

// RDMA.

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

std::vector<GidEntry> gids_of(const RdmaPort& port) {
    std::vector<GidEntry> entries;
    std::string function;
    for (const auto& [number, space] : machine().spaces)
        for (const fake::Rdma& each : space.rdma)
            if (each.device.index == port.device_index || each.device.name == port.device) function = each.function;
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
                    const std::string& /*root*/) {
    FoundGids found{.entries = gids_of(port), .types = 2};
    std::erase_if(found.entries, [&](const GidEntry& entry) {
        return entry.netdev != netdev ||
               std::find(addresses.begin(), addresses.end(), entry.address) == addresses.end();
    });
    return found;
}

std::vector<GidEntry> list_gids(const RdmaPort& port, const std::string& /*root*/) {
    return gids_of(port);
}

GidTable read_gid_table(const RdmaPort& port, const std::string& /*root*/) {
    return {.length = 16, .used = gids_of(port).size(), .types = 2};
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
