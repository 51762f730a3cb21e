#include "support/vf_node.hpp"

#include "support/node.hpp"
#include "support/patience.hpp"
#include "support/process.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>

#include <chrono>
#include <thread>

namespace rdmanet::test {

using base::concat;

bool set_rdma_mode(const std::string& mode) {
    const auto deadline = base::Deadline::in(kPatience);
    while (!succeeds("rdma system set netns " + mode)) {
        if (deadline.passed()) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
    return true;
}

bool VfNode::possible() {
    return succeeds("test -e /sys/class/net/rnic0p0/device/sriov_numvfs");
}

VfNode::VfNode(const std::string& mode, unsigned vfs) : pf_(rdma_parent()) {
    if (!set_rdma_mode(mode)) throw base::Error("the RDMA namespace mode can't be set: a namespace is left");
    shell(concat("echo ", vfs, " >/sys/class/net/", pf_, "/device/sriov_numvfs"));
}

VfNode::~VfNode() {
    (void)succeeds(concat("echo 0 >/sys/class/net/", pf_, "/device/sriov_numvfs"));
    (void)set_rdma_mode("shared");
}

std::string VfNode::vf(unsigned number) const {
    return shell(concat("basename $(readlink /sys/class/net/", pf_, "/device/virtfn", number, ") | tr -d '\\n'"));
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

} // namespace rdmanet::test
