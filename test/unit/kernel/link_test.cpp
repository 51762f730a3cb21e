#include <rdmanet/kernel/link.hpp>

#include "fixture.hpp"

#include <rdmanet/base/file.hpp>

#include <catch2/catch.hpp>

#include <linux/if.h>

#include <algorithm>
#include <cerrno>
#include <thread>

namespace rdmanet::kernel {
namespace {

using Catch::Matchers::Contains;
using test::Host;
using test::ifname;
using test::Pod;

ChildSpec child_of(const Host& host, const Pod& pod) {
    return {.name = ifname("net1"),
            .parent_ifindex = host.parent.ifindex,
            .parent_name = host.parent.name,
            .netns = &pod.netns,
            .kind = Macvlan{},
            .mac = base::MacAddress::parse("02:11:22:33:44:55"),
            .mtu = 1400};
}

int refusal(Host& host, const ChildSpec& child) {
    try {
        add_link(host.route, child);
    } catch (const NetlinkError& error) {
        return error.errno_value();
    }
    return 0;
}

TEST_CASE("links are found by name and number") {
    Host host;
    const auto found = find_link(host.route, ifname("parent0"));
    REQUIRE(found);
    CHECK(found->kind == "veth");
    CHECK(found->hardware_type == 1);
    CHECK(found->mac());
    CHECK(found->mtu == 1500);
    CHECK(found->is_up());
    CHECK(found->parent_ifindex); // a veth's parent is its peer
    CHECK_FALSE(found->parent_netnsid);
    CHECK(list_lower_links(host.route, {*found}).empty()); // but not a lower link
    CHECK(find_link(host.route, found->ifindex)->name == "parent0");
    CHECK_FALSE(find_link(host.route, ifname("absent0")));
    CHECK_FALSE(find_link(host.route, 4711));
    CHECK_FALSE(find_link(host.route, 0));
    CHECK_FALSE(find_link_by_altname(host.route, "no-such-alternative-name"));
    CHECK_FALSE(find_link_by_altname(host.route, std::string(500, 'x')));
}

TEST_CASE("an interface announces its IPv4 addresses from a request on") {
    Host host;
    const auto arp_notify = [&] {
        const NetnsScope scope(host.netns);
        return base::read_file("/proc/sys/net/ipv4/conf/parent0/arp_notify", 64);
    };
    REQUIRE(arp_notify() == "0\n");
    announce_ipv4_when_up(host.route, host.parent.ifindex);
    CHECK(arp_notify() == "1\n");
    change_link(host.route, host.parent.ifindex, {.state = AdminState::down});
    CHECK(arp_notify() == "1\n");
}

TEST_CASE("an interface can send when it has a carrier and a queueing discipline") {
    Link link;
    link.qdisc = "noqueue";
    link.flags = IFF_UP | IFF_RUNNING; // a new device without carrier before linkwatch_event()
    CHECK_FALSE(link.can_send());
    link.flags |= IFF_LOWER_UP;
    CHECK(link.can_send());
    link.qdisc = "noop"; // with carrier before linkwatch_event()
    CHECK_FALSE(link.can_send());

    Host host;
    const auto parent = [&] { return find_link(host.route, host.parent.ifindex).value(); };
    change_link(host.route, host.parent.ifindex, {.state = AdminState::down});
    CHECK_FALSE(parent().can_send());
    change_link(host.route, host.parent.ifindex, {.state = AdminState::up});
    change_link(host.route, *host.parent.parent_ifindex, {.state = AdminState::up});
    while (!parent().can_send()) std::this_thread::yield();
    CHECK(parent().qdisc == "noqueue");
    change_link(host.route, *host.parent.parent_ifindex, {.state = AdminState::down});
    while (parent().can_send()) std::this_thread::yield();
}

TEST_CASE("a macvlan child is created complete in the pod, or with the parent's MTU, a random MAC and the parent's "
          "namespace") {
    NEEDS_KIND("macvlan");
    Host host;
    Pod pod;
    ChildSpec child = child_of(host, pod);
    child.kind = Macvlan{.mode = MacvlanMode::private_, .broadcast_queue_length = 500};
    add_link(host.route, child);

    const auto made = find_link(pod.route, ifname("net1"));
    REQUIRE(made);
    CHECK(made->kind == "macvlan");
    REQUIRE(made->macvlan);
    CHECK(*made->macvlan == Macvlan{.mode = MacvlanMode::private_, .broadcast_queue_length = 500});
    CHECK(made->mac()->to_string() == "02:11:22:33:44:55");
    CHECK(made->mtu == 1400);
    CHECK(made->is_up());
    CHECK(made->parent_ifindex == host.parent.ifindex);
    CHECK(made->parent_netnsid);
    CHECK_FALSE(find_link(host.route, ifname("net1")));
    child = child_of(host, pod);
    child.mac.reset();
    child.mtu.reset();
    child.netns = nullptr;
    child.up = false;
    add_link(host.route, child);
    const auto plain = find_link(host.route, ifname("net1"));
    REQUIRE(plain);
    CHECK(plain->mtu == 1500);
    CHECK(plain->mac() != host.parent.mac());
    CHECK_FALSE(plain->is_up());
    CHECK_FALSE(plain->parent_netnsid);
}

TEST_CASE("every macvlan mode is read back as it was set") {
    NEEDS_KIND("macvlan");
    for (const MacvlanMode mode :
         {MacvlanMode::private_, MacvlanMode::vepa, MacvlanMode::bridge, MacvlanMode::passthru, MacvlanMode::source}) {
        Host host;
        Pod pod;
        ChildSpec child = child_of(host, pod);
        child.kind = Macvlan{.mode = mode};
        child.mac.reset();
        add_link(host.route, child);
        CHECK(find_link(pod.route, ifname("net1"))->macvlan->mode == mode);
    }
}

TEST_CASE("every ipvlan mode and flag is read back as it was set") {
    NEEDS_KIND("ipvlan");
    for (const IpvlanMode mode : {IpvlanMode::l2, IpvlanMode::l3, IpvlanMode::l3s})
        for (const IpvlanFlag flag : {IpvlanFlag::bridge, IpvlanFlag::private_, IpvlanFlag::vepa}) {
            Host host;
            Pod pod;
            ChildSpec child = child_of(host, pod);
            child.kind = Ipvlan{.mode = mode, .flag = flag};
            child.mac.reset();
            add_link(host.route, child);
            const auto made = find_link(pod.route, ifname("net1"));
            REQUIRE(made);
            CHECK(*made->ipvlan == Ipvlan{.mode = mode, .flag = flag});
            CHECK(made->mac() == host.parent.mac());
        }
}

TEST_CASE("macvlan and ipvlan children of one parent exclude each other, in all namespaces") {
    NEEDS_KIND("macvlan");
    NEEDS_KIND("ipvlan");
    Host host;
    const Pod first;
    const Pod second;
    add_link(host.route, child_of(host, first));
    ChildSpec child = child_of(host, second);
    child.kind = Ipvlan{};
    child.mac.reset();
    CHECK(refusal(host, child) == EBUSY);
}

TEST_CASE("a refused child leaves nothing, and the error names what was tried") {
    NEEDS_KIND("macvlan");
    Host host;
    Pod pod;
    add_link(host.route, child_of(host, pod));
    CHECK(refusal(host, child_of(host, pod)) == EEXIST);

    ChildSpec other = child_of(host, pod);
    other.name = ifname("net2");
    other.mac = base::MacAddress::parse("02:11:22:33:44:66");
    other.mtu = 9000; // beyond the parent's
    CHECK(refusal(host, other) == EINVAL);
    other.mtu = 1500;
    other.kind = Macvlan{.mode = MacvlanMode::passthru};
    CHECK(refusal(host, other) == EINVAL);
    other.parent_ifindex = 4711;
    CHECK(refusal(host, other) == ENODEV);
    CHECK_THROWS_WITH(add_link(host.route, other), Contains("create macvlan \"net2\" on \"parent0\": "));
    CHECK_FALSE(find_link(pod.route, ifname("net2")));
    CHECK_FALSE(find_link(host.route, ifname("net2")));
}

TEST_CASE("a link may be removed twice") {
    NEEDS_KIND("macvlan");
    Host host;
    Pod pod;
    add_link(host.route, child_of(host, pod));
    const unsigned ifindex = find_link(pod.route, ifname("net1"))->ifindex;
    CHECK(remove_link(pod.route, ifindex) == Removed::yes);
    CHECK(remove_link(pod.route, ifindex) == Removed::was_absent);
    CHECK_FALSE(find_link(pod.route, ifname("net1")));
}

TEST_CASE("one request moves, renames and sets up a link") {
    Host host;
    Pod pod;
    change_link(host.route, host.parent.ifindex,
                {.name = ifname("net1"),
                 .mac = base::MacAddress::parse("02:00:00:00:00:09"),
                 .mtu = 1300,
                 .state = AdminState::up,
                 .netns = &pod.netns});
    const auto moved = find_link(pod.route, ifname("net1"));
    REQUIRE(moved);
    CHECK(moved->mac()->to_string() == "02:00:00:00:00:09");
    CHECK(moved->mtu == 1300);
    CHECK(moved->is_up());
    change_link(pod.route, moved->ifindex, {.state = AdminState::down});
    CHECK_FALSE(find_link(pod.route, moved->ifindex)->is_up());
    CHECK(find_link(pod.route, moved->ifindex)->mtu == 1300);
    CHECK_THROWS_AS(change_link(pod.route, 4711, {.mtu = 1400}), NetlinkError);
}

TEST_CASE("ports of a bridge are listed as its lower links") {
    NEEDS_KIND("bridge");
    Host host;
    const auto bridge = test::make_link(host.route, {.kind = "bridge", .name = "br0"});
    REQUIRE(bridge);
    test::set_master(host.route, host.parent.ifindex, bridge->ifindex);
    const auto ports = list_links(host.route, bridge->ifindex);
    REQUIRE(ports.size() == 1);
    CHECK(ports.front().name == "parent0");
    CHECK(ports.front().master_ifindex == bridge->ifindex);
    REQUIRE(list_lower_links(host.route, {*bridge}).size() == 1);

    const Pod pod;
    CHECK(refusal(host, child_of(host, pod)) == EBUSY); // a port of a bridge cannot have children
}

TEST_CASE("the parent of a VLAN is its lower link") {
    NEEDS_KIND("vlan");
    Host host;
    const auto vlan =
        test::make_link(host.route, {.kind = "vlan", .name = "parent0.5", .parent_ifindex = host.parent.ifindex});
    REQUIRE(vlan);
    const auto below = list_lower_links(host.route, {*vlan});
    REQUIRE(below.size() == 1);
    CHECK(below.front().ifindex == host.parent.ifindex);
}

TEST_CASE("kinds have the names of configurations and iproute2") {
    CHECK(to_string(Macvlan{.mode = MacvlanMode::passthru}) == "macvlan mode passthru");
    CHECK(to_string(Ipvlan{.mode = IpvlanMode::l3s, .flag = IpvlanFlag::vepa}) == "ipvlan mode l3s flag vepa");
}

} // namespace
} // namespace rdmanet::kernel
