#include "fixture.hpp"
#include "message.hpp"
#include "parse.hpp"

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <sys/mount.h>

#include <map>
#include <thread>

namespace rdmanet::kernel {
namespace {

const auto kMac = *base::MacAddress::parse("02:00:00:00:00:01");

void put_vf(Message& message, unsigned number, bool all) {
    message.nest(IFLA_VF_INFO, [&] {
        ifla_vf_mac mac{};
        mac.vf = number;
        std::copy(kMac.bytes().begin(), kMac.bytes().end(), mac.mac);
        message.put_value(IFLA_VF_MAC, mac);
        message.put_value(IFLA_VF_VLAN, ifla_vf_vlan{.vf = number, .vlan = 100 + number, .qos = 3});
        message.put_value(IFLA_VF_SPOOFCHK, ifla_vf_spoofchk{.vf = number, .setting = all ? 1U : UINT32_MAX});
        if (!all) return;
        message.put_value(IFLA_VF_RATE, ifla_vf_rate{.vf = number, .min_tx_rate = 10, .max_tx_rate = 20});
        message.put_value(IFLA_VF_TRUST, ifla_vf_trust{.vf = number, .setting = 0});
        message.put_value(IFLA_VF_LINK_STATE,
                          ifla_vf_link_state{.vf = number, .link_state = IFLA_VF_LINK_STATE_DISABLE});
        message.nest(IFLA_VF_VLAN_LIST, [&] {
            message.put_value(
                IFLA_VF_VLAN_INFO,
                ifla_vf_vlan_info{.vf = number, .vlan = 100 + number, .qos = 3, .vlan_proto = htons(0x88a8)});
        });
    });
}

Message answer() {
    Message message(RTM_NEWLINK, 0, ifinfomsg{});
    message.nest(IFLA_VFINFO_LIST, [&] {
        put_vf(message, 0, false);
        put_vf(message, 1, true);
    });
    return message;
}

TEST_CASE("the settings of one VF are found among the others'") {
    Message message = answer();
    const auto settings = parse_vf(message.header(), 1);
    REQUIRE(settings);
    CHECK(settings->mac == kMac);
    CHECK(settings->vlan == VfVlan{.id = 101, .qos = 3, .protocol = VlanProtocol::dot1ad});
    CHECK(settings->rates == VfRates{.least_mbps = 10, .most_mbps = 20});
    CHECK(settings->spoof_check == true);
    CHECK(settings->trust == false);
    CHECK(settings->link_state == VfLinkState::disable);
    CHECK_FALSE(parse_vf(message.header(), 2));
}

TEST_CASE("reported VFs name their PF if the kernel names devices of links, and have their settings anyway") {
    Message older = answer();
    const auto nameless = parse_reported_vfs(older.header());
    REQUIRE(nameless.size() == 2);
    CHECK_FALSE(nameless[0].of);
    CHECK(nameless[1].settings.vlan->id == 101);
    Message newer = answer();
    newer.put_text(IFLA_PARENT_DEV_NAME, "0000:3b:00.0");
    const auto named = parse_reported_vfs(newer.header());
    REQUIRE(named.size() == 2);
    CHECK(named[1].of->pf.to_string() == "0000:3b:00.0");
    CHECK(named[1].of->number == 1);
    CHECK(named[1].settings.vlan->id == 101);
}

TEST_CASE("a value that a driver does not report is not a setting") {
    Message message = answer();
    const auto settings = parse_vf(message.header(), 0);
    REQUIRE(settings);
    CHECK(settings->vlan == VfVlan{.id = 100, .qos = 3});
    CHECK_FALSE(settings->rates);
    CHECK_FALSE(settings->spoof_check); // -1
    CHECK_FALSE(settings->trust);
    CHECK_FALSE(settings->link_state);
}

TEST_CASE("an answer truncated at any byte gives no settings") {
    Message message = answer();
    const auto length = message.header().nlmsg_len;
    for (message.header().nlmsg_len = 0; message.header().nlmsg_len < length; ++message.header().nlmsg_len)
        CHECK_FALSE(parse_vf(message.header(), 1));
    CHECK(parse_vf(message.header(), 1));
}

TEST_CASE("ignored settings differ from rounded ones, and from ones that the driver does not report") {
    const VfSettings before{.mac = kMac, .vlan = VfVlan{}, .rates = VfRates{.most_mbps = 100}, .trust = false};
    const VfSettings asked{
        .vlan = VfVlan{.id = 7}, .rates = VfRates{.most_mbps = 70}, .spoof_check = true, .trust = true};
    CHECK(ignored(asked, before, before) ==
          VfSettings{.vlan = VfVlan{.id = 7}, .rates = VfRates{.most_mbps = 70}, .trust = true});
    VfSettings now = before;
    now.vlan = asked.vlan;
    now.rates = VfRates{.most_mbps = 50}; // the driver rounds to 50
    CHECK(ignored(asked, before, now) == VfSettings{.trust = true});
    CHECK(ignored({.rates = VfRates{}}, before, before).empty());
}

TEST_CASE("settings that differ, and settings to restore") {
    const VfSettings before{.mac = kMac, .vlan = VfVlan{}, .spoof_check = true, .trust = false};
    const VfSettings wanted{.vlan = VfVlan{.id = 7}, .spoof_check = true, .link_state = VfLinkState::enable};
    const VfSettings changes = difference(wanted, before);
    CHECK(changes == VfSettings{.vlan = VfVlan{.id = 7}, .link_state = VfLinkState::enable});
    CHECK(restrict_to(before, changes) == VfSettings{.vlan = VfVlan{}});
    CHECK(difference(before, before).empty());
}

TEST_CASE("a setting is lost if it is neither as wanted nor as ADD left it, as far as the driver reports it") {
    const VfSettings wanted{.vlan = VfVlan{.id = 7}, .trust = true};
    const VfSettings left{.mac = kMac, .vlan = VfVlan{}, .spoof_check = true};
    const VfSettings as_left{.mac = kMac, .vlan = VfVlan{}, .spoof_check = true, .link_state = VfLinkState::enable};
    CHECK(lost(wanted, left, as_left).empty()); // the driver did not report the VLAN then
    CHECK(lost(wanted, left, {.vlan = VfVlan{.id = 7}, .trust = true}).empty());
    CHECK(lost(wanted, left, {.vlan = VfVlan{.id = 8}, .trust = false}) == wanted);
    CHECK(lost({}, left, {.mac = kMac, .vlan = VfVlan{.id = 7}, .spoof_check = false}) ==
          VfSettings{.vlan = VfVlan{}, .spoof_check = true});
}

TEST_CASE("a rate counts as unset only if it equals the port's speed") {
    const test::Host host;
    const auto limit = [](unsigned mbps) { return VfSettings{.rates = VfRates{.most_mbps = mbps}}; };
    constexpr unsigned kSpeed = 10'000; // veth_get_link_ksettings(), drivers/net/veth.c
    bool has_sysfs = false;
    std::map<unsigned, VfSettings> left;
    VfSettings elsewhere;
    std::thread([&] { // sysfs shows the devices of the namespace in which it was mounted
        const NetnsScope scope(host.netns);
        has_sysfs = ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                    ::mount("sysfs", "/sys", "sysfs", 0, nullptr) == 0;
        for (const unsigned mbps : {0U, kSpeed - 1, kSpeed})
            left[mbps] = without_port_speed(limit(mbps), {.pf = host.parent.name});
        elsewhere = without_port_speed(limit(kSpeed), {.pf = "no-such-pf"});
    })
        .join();
    NEEDS(has_sysfs, "the right to mount sysfs");
    CHECK(left == std::map<unsigned, VfSettings>{{0, limit(0)}, {kSpeed - 1, limit(kSpeed - 1)}, {kSpeed, {}}});
    CHECK(elsewhere == limit(kSpeed));
}

TEST_CASE("one command sets all settings, and a second one the port GUID after a node GUID") {
    const VfId vf{.pf_ifindex = 1, .pf = "eth0", .number = 3};
    CHECK(to_command(VfSettings{.vlan = VfVlan{.id = 7}}, vf) == "ip link set eth0 vf 3 vlan 7");
    CHECK(
        to_command(VfSettings{.mac = kMac,
                              .vlan = VfVlan{.id = 100, .qos = 3, .protocol = VlanProtocol::dot1ad},
                              .rates = VfRates{.least_mbps = 1, .most_mbps = 2},
                              .spoof_check = false,
                              .trust = true,
                              .link_state = VfLinkState::automatic,
                              .node_guid = base::Guid(1),
                              .port_guid = base::Guid(2)},
                   vf) ==
        "ip link set eth0 vf 3 mac 02:00:00:00:00:01 vlan 100 qos 3 proto 802.1ad max_tx_rate 2 min_tx_rate 1 spoofchk "
        "off trust on state auto node_guid 00:00:00:00:00:00:00:01 && ip link set eth0 vf 3 port_guid "
        "00:00:00:00:00:00:00:02");
}

TEST_CASE("settings are written as text") {
    CHECK(to_string(VfSettings{}).empty());
    CHECK(
        to_string(VfSettings{.mac = kMac,
                             .vlan = VfVlan{.id = 100, .qos = 3, .protocol = VlanProtocol::dot1ad},
                             .rates = VfRates{.least_mbps = 1, .most_mbps = 2},
                             .spoof_check = false,
                             .trust = true,
                             .link_state = VfLinkState::automatic}) ==
        "mac 02:00:00:00:00:01, vlan 100 qos 3 802.1ad, rates 1 to 2 Mbit/s, spoofchk off, trust on, link_state auto");
    CHECK(VfId{.pf_ifindex = 1, .pf = "eth0", .number = 3}.to_string() == "VF 3 of \"eth0\"");
}

// devlink_port_phys_port_name_get(), net/devlink: other ports of a switch would be taken for the uplink of a pod's VF,
// or for its representor.
TEST_CASE("the ports of a switch are told apart by the names that drivers report") {
    for (const char* name : {"p0", "p12"}) CHECK(is_of_port(name));
    for (const char* name : {"", "p", "0", "p0s1", "pf0", "pf0vf0", "c1pf0vf0", "p 1"}) CHECK_FALSE(is_of_port(name));
    CHECK(vf_of("pf1vf12") == 12U);
    for (const char* name : {"", "p3", "pf3", "pf0vf", "pfvf3", "pf0sf3", "c1pf0vf3", "pf0vf3n1", "pf0vf99999999999"})
        CHECK_FALSE(vf_of(name));
}

} // namespace
} // namespace rdmanet::kernel
