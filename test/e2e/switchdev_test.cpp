// VFs of a PF in switchdev mode: its uplink is told from the VFs' representors, which are net devices of the PF, too.
#include "vf_stage.hpp"

#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

/// Of a PF, until the end of the scope.
class SwitchdevMode {
public:
    explicit SwitchdevMode(const std::string& pf)
        : set_(concat("devlink dev eswitch set pci/$(basename $(readlink -f /sys/class/net/", pf, "/device)) mode ")) {
        shell(concat(set_, "switchdev"));
    }
    SwitchdevMode(const SwitchdevMode&) = delete;
    SwitchdevMode& operator=(const SwitchdevMode&) = delete;
    ~SwitchdevMode() { (void)succeeds(concat(set_, "legacy")); }

private:
    std::string set_;
};

/// Its representors come before the uplink in the alphabet.
class SwitchdevNode {
public:
    SwitchdevNode() {
        for (const unsigned number : {0U, 1U}) {
            const std::string set_link = concat("ip link set ", representor(number));
            shell(concat(set_link, " addrgenmode none && ", set_link, " up"));
        }
    }

    [[nodiscard]] const VfNode& vfs() const { return vfs_; }
    [[nodiscard]] std::string representor(unsigned number) const {
        return concat("rep", vfs_.pf().substr(4), 'v', number); // rnic0p0 has rep0p0v0
    }

private:
    VfNode vfs_;
    SwitchdevMode mode_{vfs_.pf()};
};

/// What forwards between the representors, until the end of the scope.
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

TEST_CASE("a VF of a PF in switchdev mode is set up through the uplink, and its pod talks by the representor",
          "[sriov][rdma]") {
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
    CHECK(node.difference() == "");
}

TEST_CASE("what a PF in switchdev mode can't do is refused, and nothing changed", "[sriov]") {
    NEEDS_VFS();
    const SwitchdevNode switched;
    const VfNode& vfs = switched.vfs();
    const Pod pod("pod");
    const UnchangedNode node;
    CHECK_THAT(refusal(vf_call(vfs, pod, 0, "'vlan':100,'trust':'on'")),
               Contains(concat("vlan 100 of VF 0 of \"", vfs.pf(), "\": operation not supported")));
    CHECK_THAT(refusal(call_for(pod, concat("'attach':'host-device','device':'", vfs.pf(), '\''))),
               Contains("has several net devices") && Contains("in switchdev mode a VF instead of its PF"));
    CHECK(node.difference() == "");
}

} // namespace rdmanet::test
