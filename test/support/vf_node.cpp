#include "support/vf_node.hpp"
#include "support/concat.hpp"

#include "support/netns_lines.hpp"
#include "support/node.hpp"
#include "support/patience.hpp"
#include "support/process.hpp"

#include <rdmanet/base/error.hpp>

#include <filesystem>
#include <fstream>

namespace rdmanet::test {

namespace fs = std::filesystem;

void set_vfs(const std::string& device, unsigned number) {
    std::ofstream file(device + "/sriov_numvfs");
    if (!(file << number << std::flush)) throw base::Error(concat("set ", number, " VFs of ", device));
}

bool set_rdma_mode(const std::string& mode) {
    return comes_true([&] { return allows_rdma_mode(mode == "shared"); });
}

bool VfNode::possible() {
    return fs::exists("/sys/class/net/rnic0p0/device/sriov_numvfs");
}

VfNode::VfNode(const std::string& mode, unsigned vfs) : pf_(rdma_parent()) {
    if (!set_rdma_mode(mode)) throw base::Error("the RDMA namespace mode can't be set: a namespace is left");
    set_vfs(concat("/sys/class/net/", pf_, "/device"), vfs);
}

VfNode::~VfNode() {
    try {
        set_vfs(concat("/sys/class/net/", pf_, "/device"), 0);
    } catch (const base::Error&) { // the card is gone
    }
    (void)set_rdma_mode("shared");
}

std::string VfNode::vf(unsigned number) const {
    return fs::read_symlink(concat("/sys/class/net/", pf_, "/device/virtfn", number)).filename();
}

std::string VfNode::netdev(unsigned number) const {
    return concat(pf_, 'v', number);
}

std::string VfNode::rdma(unsigned number) const {
    return concat(rdma_device_of(pf_), 'v', number);
}

std::string VfNode::settings(unsigned number) const {
    return shell(concat("ip link show dev ", pf_, " | grep 'vf ", number, " '"));
}

SwitchdevMode::SwitchdevMode(const std::string& pf)
    : pf_(pf),
      set_(concat("devlink dev eswitch set pci/$(basename $(readlink -f /sys/class/net/", pf, "/device)) mode ")) {
    shell(concat(set_, "switchdev"));
    // When a net device comes up first, the kernel gives it a queueing discipline, which stays.
    shell("for each in $(ls /sys/class/net | grep '^rep'); do ip link set $each up && ip link set $each down; done");
}

SwitchdevMode::~SwitchdevMode() {
    (void)succeeds(concat(set_, "legacy"));
}

std::string SwitchdevMode::representor(unsigned number) const {
    return concat("rep", pf_.substr(4), 'v', number); // rep0p0v0 for rnic0p0
}

} // namespace rdmanet::test
