// The result of ADD, and what CHECK accepts of runtimes and of other plugins.
#include "scenes.hpp"

#include "support/names.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::attach::test;
using rdmanet::test::Names;

namespace {

base::IpPrefix prefix(const char* text) {
    return base::IpPrefix::parse(text).value();
}

std::vector<std::string> addresses_in_pod(Rig& rig) {
    std::vector<std::string> texts;
    for (const kernel::Address& each : rig.machine.netdev("net1", rig.pod).addresses)
        texts.push_back(each.prefix.to_string());
    return texts;
}

std::vector<std::string> routes_in_pod(Rig& rig) {
    std::vector<std::string> texts;
    for (const kernel::Route& each : rig.machine.spaces.at(rig.pod).routes)
        texts.push_back(each.destination.to_string());
    return texts;
}

using Texts = std::vector<std::string>;

} // namespace

TEST_CASE("the parent is found by any of its names, by the default route, or in the result of an earlier plugin") {
    struct Row {
        const char* members;
        void (*prepare)(Rig& rig);
    };
    const Row rows[] = {
        {R"("master": "eth7")", nothing},
        {R"("master": "parent-of-the-storage-network")",
         [](Rig& rig) { rig.machine.netdev("eth7").link.altnames = {"parent-of-the-storage-network"}; }},
        {R"("master": "mlx5_5")", nothing},                                                           // the RDMA device
        {R"("mtu": 1400)", [](Rig& rig) { route_by(rig, rig.machine.netdev("eth7").link.ifindex); }}, // IPv6
        {R"("mtu": 1400)",
         [](Rig& rig) {
             route_by(rig, rig.machine.netdev("eth0").link.ifindex);
             rig.machine.spaces.at(rig.machine.host)
                 .routes.push_back(
                     {.destination = prefix("0.0.0.0/0"), .ifindex = rig.machine.netdev("eth7").link.ifindex});
         }},
        {R"("mtu": 1400)",
         [](Rig& rig) {
             rig.prev_result = R"({"cniVersion": "1.1.0", "interfaces": [{"name": "eth7"},
                 {"name": "eth0", "sandbox": "/run/netns/pod"}]})";
         }},
    };
    for (const Row& row : rows) {
        Rig rig(row.members);
        row.prepare(rig);
        INFO(row.members);
        REQUIRE(rig.add() == "");
        CHECK(rig.machine.netdev("net1", rig.pod).link.parent_ifindex == rig.machine.netdev("eth7").link.ifindex);
        CHECK(rig.check() == "");
    }
}

TEST_CASE("a pod's request for a MAC overrides the network's, and a MAC of nobody's choice stays the attachment's") {
    Rig rig(macvlan(R"(, "mac": "02:00:00:00:00:01", "rdma": false)"));
    const auto mac = [&] {
        REQUIRE(rig.add() == "");
        const std::string text = rig.machine.netdev("net1", rig.pod).link.hardware_address_text();
        CHECK(rig.result->interfaces.front().mac == text);
        CHECK(rig.del() == "");
        return text;
    };
    CHECK(mac() == "02:00:00:00:00:01");
    rig.args = "MAC=02:00:00:00:00:02";
    CHECK(mac() == "02:00:00:00:00:02");
    rig.args.clear();
    rig.members = macvlan(R"(, "rdma": false)");
    const std::string own = mac();
    CHECK(mac() == own);
    rig.container = "c2";
    CHECK(mac() != own);
}

TEST_CASE("a representor is in the result, and keeps what a bridge needs") {
    Rig rig(vf(R"(, "mtu": 1400)"));
    add_representor(rig);
    const auto representor = [&]() -> kernel::Link& { return rig.machine.netdev("eth0_0").link; };
    representor().mtu = 1300;
    REQUIRE(rig.add() == "");
    REQUIRE(rig.result->interfaces.size() == 2);
    CHECK(rig.result->interfaces.back().name == "eth0_0");
    CHECK(rig.result->interfaces.back().mtu == 1400U);
    CHECK(rig.result->interfaces.back().sandbox.empty());
    CHECK(rig.del() == "");
    // Its MTU is never lowered, because a bridge uses the lowest of its ports. A port's IPv6 does not matter.
    representor().mtu = 1500;
    representor().master_ifindex = rig.machine.netdev("eth7").link.ifindex;
    REQUIRE(rig.add() == "");
    CHECK(representor().mtu == 1500);
    CHECK(rig.machine.netdev("eth0_0").has_ipv6);
    CHECK(rig.del() == "");
    CHECK_FALSE(representor().is_up());
}

TEST_CASE("ipvlan without ipam adopts the addresses and routes of an earlier plugin that no interface in the pod has") {
    Rig rig(R"("attach": "ipvlan", "master": "eth7", "rdma": false)");
    rig.prev_result =
        R"({"cniVersion": "1.1.0", "interfaces": [{"name": "eth7"}, {"name": "eth0", "sandbox": "/run/netns/pod"}],
        "ips": [{"address": "10.97.0.5/24", "gateway": "10.97.0.1", "interface": 0}, {"address": "fd97::5/64"},
                {"address": "10.98.0.5/24", "interface": 1}],
        "routes": [{"dst": "10.99.0.0/16", "gw": "10.97.0.1"}]})";
    REQUIRE(rig.add() == "");
    CHECK(addresses_in_pod(rig) == Texts{"10.97.0.5/24", "fd97::5/64"});
    CHECK(routes_in_pod(rig) == Texts{"10.99.0.0/16"});
    REQUIRE(rig.result->ips.size() == 3);
    CHECK(rig.result->ips[0].address == prefix("10.98.0.5/24"));
    CHECK(rig.result->ips[0].interface == 1U);
    CHECK(rig.result->ips[1].interface == 2U);
    CHECK(rig.result->ips[2].interface == 2U);
    CHECK(rig.result->routes.size() == 1);
    CHECK(rig.check() == "");
    rig.machine.netdev("net1", rig.pod).addresses.erase(rig.machine.netdev("net1", rig.pod).addresses.begin());
    CHECK_THAT(rig.check(), Names("code 107", "lacks address 10.97.0.5/24"));
    CHECK(rig.del() == "");
}

TEST_CASE("a default route is only added as \"defaultRoute\" says, and one that is left out is not in the result") {
    struct Row {
        const char* policy;
        bool has_other;
        bool is_added;
    };
    for (const Row& row : {Row{"if-none", false, true}, Row{"if-none", true, false}, Row{"never", false, false},
                           Row{"never", true, false}, Row{"always", true, true}}) {
        INFO(row.policy << row.has_other);
        Rig rig(macvlan(R"(, "rdma": false, "defaultRoute": ")" + std::string(row.policy) +
                        R"(", "ipam": {"type": "rdmanet", "range": "10.9.0.0/24", "gateway": "10.9.0.254",
                        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "10.7.0.0/16"}]})"));
        auto& routes = rig.machine.spaces.at(rig.pod).routes;
        if (row.has_other) routes.push_back({.destination = prefix("0.0.0.0/0"), .table = kernel::kMainTable});
        REQUIRE(rig.add() == "");
        CHECK(routes.size() == (row.has_other ? 1U : 0U) + (row.is_added ? 2U : 1U));
        CHECK(rig.result->routes.size() == (row.is_added ? 2 : 1));
        for (const cni::Route& route : rig.result->routes) CHECK(route.gateway->to_string() == "10.9.0.254");
        CHECK(rig.check() == "");
    }
}

TEST_CASE("a default route in another table is no matter of \"defaultRoute\"") {
    Rig rig(macvlan(R"(, "rdma": false, "defaultRoute": "never", "ipam": {"type": "rdmanet", "range": "10.9.0.0/24",
        "routes": [{"dst": "0.0.0.0/0", "table": 101}]})"));
    REQUIRE(rig.add() == "");
    CHECK(routes_in_pod(rig) == Texts{"0.0.0.0/0"});
}

TEST_CASE("an IPv6 default route loses to one that a router advertises, unless \"defaultRoute\" is \"always\"") {
    for (const char* policy : {"if-none", "always"}) {
        Rig rig(macvlan(R"(, "rdma": false, "defaultRoute": ")" + std::string(policy) +
                        R"(", "ipam": {"type": "rdmanet", "range": "fd09::/64", "routes": [{"dst": "::/0"}]})"));
        REQUIRE(rig.add() == "");
        CHECK(rig.machine.spaces.at(rig.pod).routes.front().metric == (policy == std::string("always") ? 1023 : 1025));
    }
}

TEST_CASE("`rdmanet plan` knows what ADD takes back from a dead pod, and what the pod and its runtime lack") {
    Rig rig(vf() + kIpam);
    REQUIRE(rig.add() == "");
    rig.machine.end_netns(rig.pod);
    rig.pod = rig.machine.add_netns(kPodPath);
    rig.container = "c2";
    (void)rig.take_log();
    attach::Preview preview = rig.preview();
    REQUIRE(preview.taken_back.size() == 1);
    CHECK_THAT(preview.taken_back.front(), Names("\"net\"", "\"c1\"", "\"net1\""));
    REQUIRE(preview.ranges.size() == 1);
    CHECK(preview.ranges.front().free_count() == 253);
    CHECK_THAT(rig.take_log(), Names("capabilities", "\"CNIDeviceInfoFile\"", "missing"));
    for (const char* value : {"false", "true"}) {
        rig.members = vf(R"(, "capabilities": {"CNIDeviceInfoFile": )" + std::string(value) + "}");
        (void)rig.preview();
        CHECK(rig.take_log().empty() == (value == std::string("true")));
    }
    rig.members = macvlan(R"(, "rdma": false)") + kIpam;
    rig.args = "IP=10.9.0.5";
    CHECK_THAT(rig.preview().actions.at(1), Names("requested address 10.9.0.5", "10.9.0.0/24"));
    rig.args.clear();
    attach_to_another_pod(rig);
    for (const std::string& refused :
         {rig.result->ips.front().address.address().to_string(), std::string("10.1.1.1")}) {
        rig.args = "IP=" + refused;
        const std::string said = rig.refusal_of_plan();
        CHECK_THAT(said, Names(refused));
        CHECK(said == rig.add());
    }
}

TEST_CASE("CHECK compares what ADD made and prevResult still has") {
    Rig rig(macvlan(R"(, "rdma": false, "ipam": {"type": "rdmanet", "range": "10.9.0.0/24", "ipRanges": [
        {"range": "fd09::/64"}], "routes": [{"dst": "10.7.0.0/16"}]})"));
    REQUIRE(rig.add() == "");
    cni::Result& result = *rig.result;
    for (char& letter : result.interfaces.front().mac) letter = static_cast<char>(std::toupper(letter));
    CHECK(rig.check() == "");
    rig.machine.netdev("net1", rig.pod).addresses.pop_back(); // of a later plugin's choice
    CHECK_THAT(rig.check(), Names("code 107", "\"net1\"", "lacks", "fd09::1/64"));
    result.ips.pop_back();
    CHECK(rig.check() == "");
    result.ips.push_back(
        {.address = prefix("10.38.9.9/24"), .interface = 0}); // which that plugin has added and removed
    CHECK(rig.check() == "");
    rig.machine.spaces.at(rig.pod).routes.clear();
    CHECK_THAT(rig.check(), Names("code 107", "10.7.0.0/16", "gone"));
    result.routes = {{.destination = prefix("198.51.100.0/24")}}; // another plugin's
    CHECK(rig.check() == "");
    result.interfaces.insert(result.interfaces.begin(), {{.name = "cni0", .mac = "02:00:00:00:00:aa"},
                                                         {.name = "eth0", .sandbox = kPodPath}}); // of a chain
    for (cni::IpConfig& ip : result.ips) ip.interface = 2;
    CHECK(rig.check() == "");
    result.interfaces.back().mac = "02:00:00:00:00:aa";
    CHECK_THAT(rig.check(), Names("code 107", "MAC", "02:00:00:00:00:aa"));
}
