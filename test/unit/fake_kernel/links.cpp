#include "shared.hpp"

#include <linux/if.h>

#include <algorithm>
#include <cerrno>

namespace rdmanet::kernel {
namespace {

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

} // namespace rdmanet::kernel
