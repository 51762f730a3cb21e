// `rdmanet doctor`: networks in files of the node that its interfaces do not allow, as the kernel of ADD would say.
#include "doctor_provocation.hpp"
#include "markdown.hpp"

#include "support/concat.hpp"
#include "support/documented_check.hpp"
#include "support/infiniband_node.hpp"
#include "support/names.hpp"
#include "support/node.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {
namespace {

constexpr const char* kFile = "/etc/cni/net.d/90-doctor.conflist";
constexpr const char* kSecond = "/etc/cni/net.d/91-doctor.conflist";

/// Writes a network with these keys (single quotes), whose pods have addresses in a subnet of its own.
std::string write_network(const std::string& file, const std::string& keys) {
    return concat("mkdir -p /etc/cni/net.d; echo '",
                  json_text(concat("{'cniVersion':'1.0.0','name':'net','plugins':[{'type':'rdmanet',", keys,
                                   ",'capabilities':{'mac':true,'ips':true},'ipam':{'type':'rdmanet',"
                                   "'addresses':[{'address':'10.99.0.5/16'}]}}]}")),
                  "' >", file);
}

std::string remove_networks() {
    return concat("rm -f ", kFile, ' ', kSecond);
}

} // namespace

TEST_CASE("the doctor finds networks that the node's interfaces do not allow", "[doctor][rdma]") {
    NEEDS(!rdma_parent(1).empty(), "a second RDMA parent");
    const std::string other = rdma_parent(1);
    const std::string macvlan = concat("'master':'", other, '\'');
    const std::string ipvlan = concat("'attach':'ipvlan',", macvlan);
    std::set<std::string> tried;
    shell(concat("ip link set ", other, " mtu 1500 up; ", write_network(kFile, macvlan)));
    CHECK(found_by("any-network", "") == "");
    try_all({{"networks",
              "a network with `\"mtu\": 9000` on a parent with 1500",
              write_network(kFile, concat(macvlan, ",'mtu':9000")),
              write_network(kFile, macvlan),
              {kFile, "| lower \"mtu\""}},
             {"networks",
              "a network of macvlan children, and an ipvlan child",
              concat("ip link add link ", other, " name child0 type ipvlan"),
              "ip link delete child0",
              {kFile, "set \"attach\": \"ipvlan\""}},
             {"networks",
              "a network whose master becomes a port of a bond",
              concat("modprobe bonding; ip link add bond7 type bond; ip link set ", other, " down master bond7"),
              concat("ip link delete bond7; ip link set ", other, " up"),
              {kFile, "| set \"master\" to \"bond7\""}},
             {"networks",
              "two networks with children of two kinds",
              write_network(kSecond, ipvlan),
              write_network(kSecond, macvlan),
              {kSecond, "the same \"attach\""}},
             {"networks",
              "a network with `\"attach\": \"ipoib\"` on Ethernet",
              write_network(kFile, concat("'attach':'ipoib',", macvlan)),
              write_network(kFile, macvlan),
              {kFile, "\"attach\" to \"macvlan\" or \"ipvlan\""}},
             {"networks",
              "another interface gets an address in a network's range",
              concat("rm ", kSecond, "; ip addr add 10.99.7.1/24 dev ", rdma_parent(), "; ip link set ", rdma_parent(),
                     " up"),
              concat("ip addr del 10.99.7.1/24 dev ", rdma_parent()),
              {kFile, "10.99.0.0/16", "10.99.7.0/24", rdma_parent(), "choose a range"}}},
            "", tried);
    // Two rails in one network: the route of the first is the older one.
    shell(concat("ip addr add 10.99.7.1/16 dev ", rdma_parent(), "; ip addr add 10.99.7.2/16 dev ", other));
    CHECK(found_by("networks", "") == "");
    shell(concat("ip addr del 10.99.7.1/16 dev ", rdma_parent(), "; ip addr del 10.99.7.2/16 dev ", other));
    shell(concat("ip addr add 10.99.7.1/24 dev ", other));
    CHECK(found_by("networks", "") == ""); // of the parent itself
    shell(concat("ip addr del 10.99.7.1/24 dev ", other));
    // A child in a pod counts, too, and one of the same kind does not.
    const Pod pod("pod");
    shell(concat("ip link add link ", other, " name child0 netns pod type macvlan"));
    CHECK(found_by("networks", "") == "");
    shell(write_network(kFile, ipvlan));
    CHECK_THAT(found_by("networks", ""), Catch::Contains("has macvlan children (child0 in "));
    shell(remove_networks());
}

TEST_CASE("the doctor finds pods of one network that have no route to each other", "[doctor]") {
    const VethParent parent("par0");
    const Pod till("till");
    const Pod door("door");
    const auto attach = [&](const Pod& pod, const std::string& range) {
        PluginCall call = of(call_for(pod, concat("'master':'par0',", ipam(range))), pod.name());
        call.args = concat("K8S_POD_NAMESPACE=shop;K8S_POD_NAME=", pod.name(), ";K8S_POD_UID=", pod.name());
        (void)add(call);
        return call;
    };
    const PluginCall first = attach(till, "10.91.0.0/24");
    CHECK(del(attach(door, "10.91.0.0/24")) == "");
    CHECK(found_by("subnets", "") == "");
    const PluginCall second = attach(door, "10.92.0.0/24");
    const std::string found = found_by("subnets", "");
    INFO(found);
    CHECK(is_documented(source_text("docs/doctor.md"), "subnets", "the range of a network changes between two pods",
                        found));
    CHECK_THAT(found, Names("info", "net", "shop/till", "shop/door", "routes"));
    till.run("ip route add 10.92.0.0/24 dev net1");
    CHECK(found_by("subnets", "") != ""); // there is no way back
    door.run("ip route add 10.91.0.0/24 dev net1");
    CHECK(found_by("subnets", "") == "");
    CHECK(del(second) == "");
    CHECK(del(first) == "");
}

TEST_CASE("the doctor finds networks for Ethernet on InfiniBand", "[doctor][infiniband]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandNode node;
    const std::string ipoib = concat("'attach':'ipoib','master':'", node.parent(0), '\'');
    shell(write_network(kFile, ipoib));
    std::set<std::string> tried;
    try_all({{"networks",
              "a network of macvlan children on InfiniBand",
              write_network(kFile, "'master':'ib0p0'"),
              write_network(kFile, ipoib),
              {kFile, node.parent(0), "set \"attach\": \"ipoib\""}}},
            "", tried);
    shell(remove_networks());
}

} // namespace rdmanet::test
