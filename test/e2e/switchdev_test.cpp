// VFs of a PF in switchdev mode. The PF's uplink and the VFs' representors are all net devices of the PF.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

class SwitchdevNode {
public:
    [[nodiscard]] const VfNode& vfs() const { return vfs_; }
    [[nodiscard]] std::string representor(unsigned number) const { return mode_.representor(number); }

private:
    VfNode vfs_;
    SwitchdevMode mode_{vfs_.pf()};
};

/// A bridge that forwards between the representors until the end of the scope.
class Bridge {
public:
    explicit Bridge(const SwitchdevNode& node) {
        shell("ip link add e2ebr0 type bridge && ip link set e2ebr0 up");
        for (const unsigned number : {0U, 1U})
            shell(concat("ip link set ", node.representor(number), " master e2ebr0"));
    }
    Bridge(const Bridge&) = delete;
    Bridge& operator=(const Bridge&) = delete;
    ~Bridge() { (void)succeeds("ip link delete e2ebr0"); }
};

} // namespace

TEST_CASE("a VF in switchdev mode is set up through the uplink, and its pod communicates through the representor",
          "[sriov][rdma][representor]") {
    NEEDS_VFS();
    NEEDS(kernel_has("bridge"), "bridge");
    const SwitchdevNode switched;
    const VfNode& vfs = switched.vfs();
    const Pod one("one");
    const Pod other("other");
    const UnchangedNode node;
    const PluginCall first =
        vf_call(vfs, one, 0, concat("'rdma':true,'trust':'on','mac':'02:00:00:00:00:42',", ipam("10.94.0.0/24")));
    const PluginCall second = of(vf_call(vfs, other, 1, ipam("10.94.0.0/24")), "c2");
    const std::string result = add(first);
    CHECK_THAT(vfs.settings(0), Contains("link/ether 02:00:00:00:00:42") && Contains("trust on"));
    CHECK(one.succeeds(concat("rdma dev show ", vfs.rdma(0))));
    (void)add(second);
    CHECK_FALSE(one.succeeds("ping -c 1 -W 1 10.94.0.2"));
    {
        const Bridge bridge(switched);
        CHECK(comes_true([&] { return one.succeeds("ping -c 1 -W 1 10.94.0.2"); }));
    }
    CHECK(check(first, result) == "");
    CHECK(del(first) == "");
    CHECK(del(second) == "");
    CHECK_THAT(refusal(vf_call(vfs, one, 0, "'vlan':100,'trust':'on'")),
               Names("vlan 100", "VF 0", vfs.pf(), "not supported"));
    CHECK_THAT(refusal(call_for(one, concat("'attach':'host-device','device':'", vfs.pf(), '\''))),
               Names("several net devices", "VF", "PF"));
    CHECK(node.difference() == "");

    // The representor is not on the host, so nobody can set it up.
    const Pod elsewhere("elsewhere");
    shell(concat("ip link set ", switched.representor(0), " netns elsewhere"));
    const PluginCall lone = vf_call(vfs, one, 0, "'mtu':1400");
    const UnchangedNode moved;
    const ProcessResult added = lone.with_command("ADD").run();
    CHECK(added.exit_status == 0);
    CHECK_THAT(added.err, Names("VF 0", vfs.pf(), "representor"));
    CHECK_FALSE(succeeds(concat("echo '", added.out, "' | grep rep0")));
    CHECK(check(lone, added.out) == "");
    CHECK(del(lone) == "");
    CHECK(moved.difference() == "");
}

} // namespace rdmanet::test
