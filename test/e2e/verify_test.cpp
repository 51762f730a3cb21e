// `rdmanet verify`: pods of the software NIC prove RDMA to each other.
#include "documented.hpp"
#include "verify_stage.hpp"

#include "support/concat.hpp"
#include "support/infiniband_node.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace rdmanet::test {

using Catch::Contains;

namespace {

/// Pods "shop/till" and "shop/desk" on IPoIB children of two cards.
struct IpoibPair {
    explicit IpoibPair(const std::string& parameters = "")
        : infiniband("shared", concat("nics=2 vfs=2 link_layer=ib,ib ", parameters)) {}

    void attach(const std::string& pkey_of_till, const std::string& pkey_of_desk) {
        calls = {call(till, 0, pkey_of_till), call(desk, 1, pkey_of_desk)};
        for (const PluginCall& each : calls) (void)add(each);
    }
    /// Empty if they were detached.
    [[nodiscard]] std::string detach() const {
        std::string said;
        for (const PluginCall& each : calls) said += del(each);
        return said;
    }

    InfinibandNode infiniband;
    Pod till{"till"};
    Pod desk{"desk"};
    UnchangedNode node;
    std::vector<PluginCall> calls{};

private:
    [[nodiscard]] PluginCall call(const Pod& pod, unsigned card, const std::string& pkey) const {
        return as_pod(call_for(pod, concat("'attach':'ipoib','master':'", infiniband.parent(card), "','pkey':'", pkey,
                                           "','rdma':true,", ipam("10.96.0.0/24"))),
                      pod.name());
    }
};

} // namespace

TEST_CASE("two pods with VFs prove RDMA to each other", "[verify][sriov]") {
    const VfPair pair;

    const std::string text = verify("shop/till shop/desk");
    const std::vector<std::string> documented = lines_of(read_markdown("docs/verify.md").blocks.at(0).text);
    for (std::size_t line = 0; line < 3; ++line) CHECK_THAT(text, Contains(documented.at(line)));
    CHECK_THAT(text, Contains("\nping") && Contains("\nbandwidth") && Contains("\nlatency"));
    CHECK_THAT(text, Names("proven", "shop/till net1", "shop/desk net1", "10.71.0.1", "10.71.0.2", "100 Gb/s"));
    CHECK_THAT(text, Contains("does not prove the network between nodes"));
    CHECK_THAT(text, Catch::EndsWith("\n0\n"));
    CHECK_THAT(text, !Contains("\033"));

    CHECK(values("shop/till shop/desk",
                 "[.verdict,.scope,.exitStatus,.ping.messages,.here.pod,.peer.pod,.here.address,.peer.interface,"
                 ".bandwidth.rate>0,.latency.typical>0,.latency.slow>=.latency.typical,(.cause|type),"
                 "[.checks[]|select(.result!=\"ok\")]]") ==
          "[\"proven\",\"node\",0,20,\"shop/till\",\"shop/desk\",\"10.71.0.1\",\"net1\",true,true,true,\"null\",[]]\n");

    // Bandwidth below the expectation works, and is said.
    CHECK_THAT(shell(concat(binary(), " verify shop/till shop/desk --seconds 600 --expect 100 2>/dev/null; echo $?")),
               Contains("limited: ") && Contains("expected 100 %") && Catch::EndsWith("\n1\n"));
    CHECK(pair.end() == "");
}

TEST_CASE("a device proves itself to itself, and says that this is less", "[verify][sriov]") {
    const VfPair pair;
    CHECK(values("shop/till", "[.verdict,.scope,.here==.peer]") == "[\"proven\",\"device\",true]\n");
    CHECK(values("shop/till --interface net1 shop/desk", ".scope") == "node\n");
    CHECK_THAT(verify("/run/netns/till"), Names("shop/till", "no way to another pod"));
    // As in a container: the pod is where the process is.
    const std::string inside = pair.till.run(concat(binary(), " verify .", kPatient, "2>&1"));
    CHECK_THAT(inside, Contains("proven: RDMA works between shop/till net1 and shop/till net1"));
    // With processes of its own, as a container has them, the first one of which is in the pod.
    const auto container = [&](const std::string& arguments) {
        return pair.till.run(concat("unshare --pid --fork --mount-proc ", binary(), " verify . --json", kPatient,
                                    arguments, " 2>/tmp/verify.err | jq -c '[.verdict,.scope,.here.pod,.peer.pod]'"));
    };
    CHECK(container("/var/run/netns/till") == "[\"proven\",\"device\",\"shop/till\",\"shop/till\"]\n");
    const std::string number = shell("stat -Lc net:[%i] /run/netns/till | tr -d '\\n'");
    CHECK(container("--state-dir /tmp/none") == concat("[\"proven\",\"device\",\"", number, "\",\"", number, "\"]\n"));
    CHECK(pair.end() == "");
}

TEST_CASE("children of one parent prove RDMA in shared mode", "[verify][rdma]") {
    NEEDS(kernel_has("macvlan") && kernel_has("ipvlan") && !rdma_parent().empty(), "children and an RDMA parent");
    for (const std::string kind : {"macvlan", "ipvlan"}) {
        INFO(kind);
        const Pod till("till");
        const Pod desk("desk");
        const UnchangedNode node;
        const std::string members =
            concat("'master':'", rdma_parent(), "','attach':'", kind, "','rdma':true,",
                   ipam(kind == "macvlan" ? "10.72.0.0/24" : "10.73.0.0/24", "'ipRanges':[{'range':'fd72::/64'}]"));
        const PluginCall first = as_pod(call_for(till, members), "till");
        const PluginCall second = as_pod(call_for(desk, members), "desk");
        (void)add(first);
        (void)add(second);
        CHECK(values("shop/till shop/desk", "[.verdict,.scope,.here.device,.peer.device]") ==
              concat("[\"proven\",\"node\",\"", rdma_device_of(rdma_parent()), "\",\"", rdma_device_of(rdma_parent()),
                     "\"]\n"));
        CHECK(del(first) + del(second) == "");
        CHECK(node.difference() == "");
    }
}

TEST_CASE("pods on IPoIB children prove RDMA over InfiniBand in their partition", "[verify][ipoib]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    // Limited members of the default partition, which the first P_Key is, cannot reach each other.
    IpoibPair pair("ib_limited=1");
    pair.attach("0x8002", "0x8002");
    CHECK(values("shop/till shop/desk", "[.verdict,.here.linkLayer,.peer.linkLayer,.here.device==.peer.device,"
                                        ".here.pkey,.peer.pkey,[.checks[]|select(.result!=\"ok\")],.exitStatus]") ==
          "[\"proven\",\"InfiniBand\",\"InfiniBand\",false,\"0x8002\",\"0x8002\",[],0]\n");
    CHECK_THAT(verify("shop/till"), Contains("  PKEY    MTU") && Contains("  0x8002  4096"));
    CHECK(pair.detach() == "");

    pair.attach("0x8001", "0x8002");
    CHECK_THAT(faults("shop/till shop/desk"),
               Names("failure partition: shop/till net1 is in partition 0x8001, and shop/desk net1 in 0x8002",
                     "the same \"pkey\"", "2"));
    CHECK(pair.detach() == "");
    pair.attach("0xffff", "0xffff");
    CHECK_THAT(faults("shop/till shop/desk"), Names("both limited members of partition 0xffff", "full member", "2"));
    CHECK(pair.detach() == "");

    // IPoIB makes the child, and waits with its carrier until the subnet manager has added the partition.
    shell(concat("ip link add link ", pair.infiniband.parent(0),
                 " name net1 netns till type ipoib pkey 0x8005; "
                 "ip -n till link set net1 up"));
    CHECK_THAT(faults("/run/netns/till"),
               Names("failure partition", "net1 is in partition 0x8005", "its port ib0p0/1 is not",
                     "0x7fff, 0x8001, 0x8002, 0x8003", "subnet manager", "\"pkey\"", "2"));
    CHECK(values("/run/netns/till", ".here.linkLayer") == "InfiniBand\n");
    shell("ip -n till link del net1");
    CHECK(pair.node.difference() == "");
}

TEST_CASE("ports that require a global routing header get one", "[verify][ipoib]") {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    IpoibPair pair("ib_grh=1");
    pair.attach("0x8001", "0x8001");
    CHECK(faults("shop/till shop/desk") == "0\n");
    CHECK(pair.detach() == "");
    CHECK(pair.node.difference() == "");
}

} // namespace rdmanet::test
