// Many VFs at once, as when the pods of a node start together. RDMANET_PARALLEL_VFS sets their number, over two
// cards. 64 VFs need RDMANET_HARNESS_MEM=3072.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/other_nic.hpp"
#include "support/reporter.hpp"

#include <rdmanet/base/text.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <set>
#include <vector>

namespace rdmanet::test {
namespace {

unsigned wanted_vfs() {
    const char* chosen = std::getenv("RDMANET_PARALLEL_VFS");
    return std::max(base::parse_integer<unsigned>(chosen == nullptr ? "" : chosen).value_or(8), 2U);
}

/// Two cards with all their VFs, in RDMA mode exclusive.
class FullNode {
public:
    explicit FullNode(unsigned number)
        : nic_(concat("nics=2 vfs=", (number + 1) / 2)), vfs_("exclusive", (number + 1) / 2) {
        shell(concat("cd /sys/class/net/", rdma_parent(1), "/device && cat sriov_totalvfs >sriov_numvfs"));
    }

    /// PCI addresses of VFs.
    [[nodiscard]] static std::vector<std::string> list_vfs() {
        const std::string text = shell("cd /sys/bus/pci/devices && for vf in */physfn; do echo ${vf%/*}; done");
        std::vector<std::string> vfs;
        for (std::size_t from = 0; from < text.size(); from = text.find('\n', from) + 1)
            vfs.push_back(text.substr(from, text.find('\n', from) - from));
        return vfs;
    }

private:
    OtherNic nic_;
    VfNode vfs_;
};

/// Makes all calls at the same time, and returns the answers.
std::vector<std::string> at_once(const std::vector<PluginCall>& calls,
                                 const std::function<std::string(std::size_t)>& make) {
    std::vector<std::future<std::string>> running;
    for (std::size_t number = 0; number < calls.size(); ++number)
        running.push_back(std::async(std::launch::async, make, number));
    std::vector<std::string> answers;
    for (auto& answer : running) answers.push_back(answer.get());
    return answers;
}

std::string joined(const std::vector<std::string>& texts) {
    std::string text;
    for (const std::string& one : texts) text += one;
    return text;
}

} // namespace

TEST_CASE("all VFs of a node move into pods at the same time, and return at the same time", "[sriov][rdma][parallel]") {
    NEEDS(OtherNic::possible() && VfNode::possible(), "SR-IOV RDMA NICs");
    const FullNode stage(wanted_vfs());
    const CheckedNode node;
    const std::vector<std::string> vfs = FullNode::list_vfs();
    CHECK(vfs.size() >= wanted_vfs());
    {
        std::vector<std::unique_ptr<Pod>> pods;
        std::vector<PluginCall> calls;
        for (const std::string& vf : vfs) {
            const std::string name = concat("pod", pods.size());
            pods.push_back(std::make_unique<Pod>(name));
            calls.push_back(
                of(call_for(*pods.back(), concat("'deviceID':'", vf, "','vlan':100,'rdma':{'mode':",
                                                 "'exclusive','gidTimeoutMs':30000},", ipam("10.117.0.0/16"))),
                   name));
        }
        const auto results = at_once(calls, [&](std::size_t number) { return add(calls[number]); });
        std::set<std::string> taken;
        for (std::size_t number = 0; number < vfs.size(); ++number) {
            CHECK(value(results[number], "interfaces.0.pciID") == vfs[number]);
            taken.insert(addresses(results[number]));
        }
        CHECK(taken.size() == vfs.size());
        CHECK(shell("rdma dev | grep -c v || true") == "0\n");
        CHECK(shell("ls /sys/class/net | grep -c v || true") == "0\n");
        CHECK(joined(at_once(calls, [&](std::size_t number) { return check(calls[number], results[number]); })) == "");
        for (std::size_t number = 0; number < vfs.size(); number += 4)
            pods[number]->destroy(); // without waiting for DEL
        CHECK(joined(at_once(calls, [&](std::size_t number) { return del(calls[number]); })) == "");
    }
}

} // namespace rdmanet::test
