#include "fixture.hpp"

#include "message.hpp"

#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <sched.h>

#include <cerrno>

namespace rdmanet::kernel::test {
namespace {

ifinfomsg up_header() {
    ifinfomsg header{};
    header.ifi_flags = header.ifi_change = IFF_UP;
    return header;
}

void put_data(Message& request, const VirtualLink& link) {
    if (link.kind == "vlan") request.put_u16(IFLA_VLAN_ID, 5);
    if (link.kind != "veth") return;
    request.nest(VETH_INFO_PEER, [&] {
        const ifinfomsg header{}; // the kernel refuses "up" while it creates the pair
        request.append({reinterpret_cast<const unsigned char*>(&header), sizeof header});
        request.put_text(IFLA_IFNAME, link.peer);
    });
}

void set_up(Socket& socket, const std::string& name) {
    const Link link = find_link(socket, ifname(name)).value();
    change_link(socket, link.ifindex, {.state = AdminState::up});
}

Link first_veth(Socket& socket) {
    return make_link(socket, {.kind = "veth", .name = "parent0", .peer = "peer0"}).value();
}

} // namespace

base::Deadline soon() {
    return base::Deadline::in(std::chrono::seconds{20}); // an emulated kernel is slow
}

base::InterfaceName ifname(std::string_view text) {
    return base::InterfaceName::parse(text).value();
}

Netns make_netns() try {
    const NetnsScope home(Netns::current()); // returns the thread at its end
    if (::unshare(CLONE_NEWNET) != 0) throw base::SystemError("make network namespace", errno);
    return Netns::current();
} catch (const base::SystemError&) {
    rdmanet::test::skip("the right to make network namespaces (root)");
}

Socket open_route(const Netns& netns) {
    return Socket::open_in(netns, Protocol::route, soon());
}

std::optional<Link> make_link(Socket& socket, const VirtualLink& link) {
    Message request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, up_header());
    request.put_text(IFLA_IFNAME, link.name);
    if (link.parent_ifindex) request.put_u32(IFLA_LINK, *link.parent_ifindex);
    request.nest(IFLA_LINKINFO, [&] {
        request.put_text(IFLA_INFO_KIND, link.kind);
        request.nest(IFLA_INFO_DATA, [&] { put_data(request, link); });
    });
    const Answer answer = socket.ask(request);
    if (answer.errno_value == EOPNOTSUPP) return std::nullopt;
    if (answer.errno_value != 0) throw NetlinkError("make " + link.name, answer.errno_value, answer.kernel_message);
    if (!link.peer.empty()) set_up(socket, link.peer);
    return find_link(socket, ifname(link.name)).value();
}

void set_master(Socket& socket, unsigned ifindex, unsigned master) {
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(ifindex);
    Message request(RTM_NEWLINK, 0, header);
    request.put_u32(IFLA_MASTER, master);
    socket.execute(request, "set master");
}

bool kernel_has(const std::string& kind) {
    Host host;
    if (kind == "veth") return true;
    const bool is_child = kind == "macvlan" || kind == "ipvlan" || kind == "vlan";
    return make_link(host.route, {.kind = kind,
                                  .name = "probe0",
                                  .parent_ifindex = is_child ? std::optional(host.parent.ifindex) : std::nullopt})
        .has_value();
}

Host::Host() : netns(make_netns()), route(open_route(netns)), parent(first_veth(route)) {}

Pod::Pod() : netns(make_netns()), route(open_route(netns)) {}

} // namespace rdmanet::kernel::test
