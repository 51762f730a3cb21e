#include "support/names.hpp"

#include <rdmanet/kernel/rdma.hpp>

#include "fixture.hpp"

#include <rdmanet/kernel/address.hpp>
#include <rdmanet/kernel/gid.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <thread>

namespace rdmanet::kernel {

using rdmanet::test::Names;
namespace {

/// An RDMA device of this machine with a net device: the harness's software NIC.
struct Nic {
    static std::optional<Nic> find() {
        auto rdma = Socket::find_rdma(test::soon());
        if (!rdma) return std::nullopt;
        for (const RdmaDevice& device : list_rdma_devices(*rdma))
            for (const RdmaPort& port : list_rdma_ports(*rdma, device))
                if (port.netdev_ifindex) return Nic(*std::move(rdma), device, port);
        return std::nullopt;
    }

    Socket rdma;
    Socket route;
    RdmaDevice device;
    RdmaPort port;
    Link netdev;

private:
    Nic(Socket socket, RdmaDevice found, RdmaPort first)
        : rdma(std::move(socket)), route(Socket::open(Protocol::route, test::soon())), device(std::move(found)),
          port(std::move(first)), netdev(find_link(route, *port.netdev_ifindex).value()) {
        change_link(route, netdev.ifindex, {.name = {}, .mac = {}, .mtu = {}, .state = AdminState::up});
    }
};

#define NEEDS_NIC(nic)                                                                                                 \
    auto nic = Nic::find();                                                                                            \
    NEEDS(nic.has_value(), "an RDMA device with a net device")

TEST_CASE("an RDMA device is found by name and number, with its ports") {
    NEEDS_NIC(nic);
    CHECK(nic->device.node_guid != 0);
    CHECK(nic->device.port_count >= 1);
    CHECK(nic->device.protocol == "roce");
    CHECK(find_rdma_device(nic->rdma, nic->device.name)->index == nic->device.index);
    CHECK(find_rdma_device(nic->rdma, nic->device.index)->name == nic->device.name);
    CHECK_FALSE(find_rdma_device(nic->rdma, "no-such-device"));
    CHECK_FALSE(find_rdma_device(nic->rdma, 4711U));
    CHECK(nic->port.device == nic->device.name);
    CHECK(nic->port.port >= 1);
    CHECK(nic->port.netdev_name == nic->netdev.name);
    RdmaDevice gone = nic->device;
    gone.index = 4711;
    CHECK(list_rdma_ports(nic->rdma, gone).empty());
    CHECK(find_netdev_of_rdma_device(nic->device.name) == nic->netdev.name);
    CHECK_FALSE(find_netdev_of_rdma_device("no-such-device"));
}

TEST_CASE("the RDMA port of an interface is found, also below a VLAN and a bond") {
    NEEDS_NIC(nic);
    CHECK(find_rdma_port(nic->rdma, nic->netdev)->device_index == nic->device.index);
    CHECK_FALSE(find_rdma_port(nic->rdma, *find_link(nic->route, test::ifname("lo"))));

    const auto vlan =
        test::make_link(nic->route, {.kind = "vlan", .name = "rdma.5", .parent_ifindex = nic->netdev.ifindex});
    REQUIRE(vlan);
    const auto port = find_rdma_port(nic->rdma, *vlan);
    CHECK(remove_link(nic->route, vlan->ifindex) == Removed::yes);
    REQUIRE(port);
    CHECK(port->device_index == nic->device.index);

    if (std::system("modprobe -q rdma_rxe") == 0) { // a second RDMA device on the same interface
        const std::string add = "rdma link add rdmarxe type rxe netdev " + nic->netdev.name;
        REQUIRE(std::system(add.c_str()) == 0);
        const auto own = find_rdma_port(nic->rdma, nic->netdev);
        CHECK(std::system("rdma link delete rdmarxe") == 0);
        REQUIRE(own);
        CHECK(own->device_index == nic->device.index);
    }

    const auto bridge = test::make_link(nic->route, {.kind = "bridge", .name = "rdmabr"});
    REQUIRE(bridge);
    test::set_master(nic->route, nic->netdev.ifindex, bridge->ifindex);
    const auto below = find_rdma_port(nic->rdma, *bridge);
    CHECK(remove_link(nic->route, bridge->ifindex) == Removed::yes);
    REQUIRE(below);
    CHECK(below->device_index == nic->device.index);
}

/// A work queue creates GIDs a little after the address.
std::vector<GidEntry> wait_for_gids(const RdmaPort& port, std::span<const base::IpAddress> addresses) {
    for (const auto deadline = test::soon();; std::this_thread::sleep_for(std::chrono::milliseconds{5})) {
        auto entries = find_gids(port, addresses, "net1").entries;
        if (!entries.empty() || deadline.passed()) return entries;
    }
}

TEST_CASE("in shared mode the address of a child in a pod becomes a GID of the parent's port") {
    NEEDS_NIC(nic);
    NEEDS(rdma_netns_mode(nic->rdma) == RdmaNetnsMode::shared, "RDMA in shared mode");
    test::Pod pod;
    add_link(nic->route, {.name = test::ifname("net1"),
                          .parent_ifindex = nic->netdev.ifindex,
                          .parent_name = nic->netdev.name,
                          .netns = &pod.netns,
                          .kind = Macvlan{},
                          .mac = {},
                          .mtu = {}});
    const unsigned child = find_link(pod.route, test::ifname("net1"))->ifindex;
    const GidTable before = read_gid_table(nic->port);
    CHECK(before.length > 0);
    const std::array addresses = {*base::IpAddress::parse("10.77.1.5")};
    add_address(pod.route, child, *base::IpPrefix::make(addresses[0], 24));
    const auto entries = wait_for_gids(nic->port, addresses);
    REQUIRE_FALSE(entries.empty());
    CHECK(entries.front().netdev == "net1");
    CHECK(entries.front().address == addresses[0]);
    CHECK(std::any_of(entries.begin(), entries.end(),
                      [](const GidEntry& entry) { return entry.type == GidType::roce_v2; }));
    CHECK(remove_link(pod.route, child) == Removed::yes);
}

TEST_CASE("a device cannot move in shared mode") {
    NEEDS_NIC(nic);
    NEEDS(rdma_netns_mode(nic->rdma) == RdmaNetnsMode::shared, "RDMA in shared mode");
    const test::Pod pod;
    CHECK_THROWS_WITH(move_rdma_device(nic->rdma, nic->device.index, pod.netns),
                      Names("move RDMA device", "operation not supported"));
    auto inside = Socket::find_rdma_in(pod.netns, test::soon());
    REQUIRE(inside);
    CHECK(find_rdma_device(*inside, nic->device.index)); // every namespace sees every device
    CHECK_FALSE(list_rdma_ports(*inside, nic->device).front().netdev_ifindex);
}

} // namespace
} // namespace rdmanet::kernel
