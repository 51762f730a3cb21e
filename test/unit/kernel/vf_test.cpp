#include "message.hpp"
#include "vf_parse.hpp"

#include <arpa/inet.h>
#include <catch2/catch.hpp>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

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

TEST_CASE("an answer truncated at any byte gives no wrong settings") {
    Message message = answer();
    const auto whole = parse_vf(message.header(), 1);
    const auto length = message.header().nlmsg_len;
    for (message.header().nlmsg_len = 0; message.header().nlmsg_len < length; ++message.header().nlmsg_len)
        if (const auto settings = parse_vf(message.header(), 1))
            CHECK((settings->mac == kMac && (!settings->vlan || settings->vlan->id == whole->vlan->id) &&
                   (!settings->rates || settings->rates == whole->rates)));
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
    const VfId nowhere{.pf_ifindex = 1, .pf = "no-such-pf", .number = 0};
    const VfSettings limited{.rates = VfRates{.most_mbps = 100'000}};
    CHECK(without_port_speed(limited, nowhere) == limited);
    CHECK(without_port_speed(VfSettings{.rates = VfRates{}}, nowhere) == VfSettings{.rates = VfRates{}});
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

} // namespace
} // namespace rdmanet::kernel
