// `rdmanet check` compares every attachment of the node with the kernel, by its record.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;
using Catch::StartsWith;

namespace {

const std::string kRoutedOnNode =
    concat("'master':'par0',", ipam("10.39.0.0/24", "'gateway':'10.39.0.254','routes':[{'dst':'10.40.0.0/16'},"
                                                    "{'dst':'0.0.0.0/0'}]"));

/// "STATUS
/// " and the output.
std::string check_of_node(const std::string& options = "") {
    return shell(concat(binary(), " check ", options, " >/tmp/check.out; echo $?; cat /tmp/check.out"));
}

} // namespace

TEST_CASE("rdmanet check compares every attachment of the node, and exits with 1 if one differs", "[check]") {
    const VethParent parent("par0");
    const Pod pod("pod");
    const Pod other("other");
    const CheckedNode node;
    CHECK_THAT(check_of_node(), StartsWith("0\n0 attachments: "));
    const PluginCall first = call_for(pod, kRoutedOnNode);
    const PluginCall second = of(call_for(other, kRoutedOnNode), "c2");
    (void)add(first);
    (void)add(second);
    CHECK_THAT(check_of_node(), StartsWith("0\n2 attachments") && Names("0 different"));

    const auto damaged = [&](const std::string& change, const std::string& repair) {
        other.run(change);
        std::string said = check_of_node();
        shell(repair);
        CHECK_THAT(check_of_node(), StartsWith("0\n"));
        return said;
    };
    CHECK_THAT(damaged("ip link set net1 down",
                       "ip -n other link set net1 up; ip -n other route add 10.40.0.0/16 via 10.39.0.254"),
               StartsWith("1\ndiffers: ") &&
                   Names("net", "c2", "net1", "10.39.0.2/24", "down", "2 attachments", "1 different"));
    CHECK_THAT(damaged("ip route del 10.40.0.0/16", "ip -n other route add 10.40.0.0/16 via 10.39.0.254"),
               Contains("route 10.40.0.0/16 through interface \"net1\" is gone"));
    CHECK_THAT(check_of_node("--json"), Contains("\"verdict\": \"same\"") && !Contains("differs"));
    // Multus may have removed the default route, and other plugins change the MTU: neither is a difference.
    other.run("ip link set net1 mtu 1300");
    other.run("ip route flush default");
    CHECK_THAT(check_of_node(), StartsWith("0\n"));
    CHECK(del(first) == "");
    CHECK(del(second) == "");
}

TEST_CASE("rdmanet check uses the runtime's result if libcni has cached it", "[check]") {
    const AttachedStage attached(kRoutedOnNode);
    const auto& [stage, call, result] = attached;
    // `tuning` does the same, and reports the MAC.
    stage.pod.run("ip link set net1 address 02:00:00:00:03:0a");
    stage.pod.run("ip route del 10.40.0.0/16");
    CHECK_THAT(check_of_node(), StartsWith("1\ndiffers: ") && Contains("has MAC 02:00:00:00:03:0a"));
    shell(concat("mkdir -p /var/lib/cni/multus/results && jq '.interfaces[0].mac=\"02:00:00:00:03:0a\"|.routes=[]|"
                 "{kind:\"cniCacheV1\",containerId:\"c1\",ifName:\"net1\",networkName:\"net\",result:.}' "
                 ">/var/lib/cni/multus/results/net-c1-net1 <<'END'\n",
                 result, "\nEND"));
    CHECK_THAT(check_of_node(), StartsWith("0\n1 attachment"));
    shell("sed -i s/cniCacheV1/cniCacheV9/ /var/lib/cni/multus/results/net-c1-net1");
    CHECK_THAT(check_of_node(), StartsWith("1\n"));
    shell("rm -r /var/lib/cni/multus");
    CHECK(attached.end() == "");
}

} // namespace rdmanet::test
