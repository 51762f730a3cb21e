#include "support/infiniband_node.hpp"

#include "support/process.hpp"
#include "support/vf_node.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>

namespace rdmanet::test {

using base::concat;

InfinibandNode::InfinibandNode(const std::string& mode, const std::string& nic) : nic_(nic) {
    if (!set_rdma_mode(mode)) throw base::Error("the RDMA namespace mode can't be set: a namespace is left");
    shell("modprobe ib_ipoib");
    for (const char* pf : {"0001:00:00.0", "0002:00:00.0"}) {
        if (!succeeds(concat("test -e /sys/bus/pci/devices/", pf))) continue;
        const std::string parent = netdev(pf);
        shell(concat("ip link set ", parent, " addrgenmode none && ip link set ", parent,
                     " up && for i in $(seq 600); do ", "[ $(</sys/class/net/", parent,
                     "/operstate) = up ] && break; sleep 0.05; done"));
        parents_.push_back(parent);
    }
}

InfinibandNode::~InfinibandNode() {
    (void)succeeds("echo 0 >/sys/bus/pci/devices/0001:00:00.0/sriov_numvfs");
    (void)succeeds("modprobe -r ib_ipoib");
    (void)set_rdma_mode("shared");
}

std::string InfinibandNode::vf(unsigned number) {
    return concat("0001:00:01.", number);
}

std::string InfinibandNode::netdev(const std::string& address) {
    return shell(concat("for i in $(seq 600); do ls /sys/bus/pci/devices/", address,
                        "/net 2>/dev/null | grep . && break; sleep 0.05; done | head -1 | tr -d '\\n'"));
}

void InfinibandNode::make_vfs(unsigned number) const {
    shell(concat("echo ", number, " >/sys/bus/pci/devices/0001:00:00.0/sriov_numvfs"));
    for (unsigned vf_number = 0; vf_number < number; ++vf_number)
        shell(concat("ip link set ", netdev(vf(vf_number)), " addrgenmode none"));
}

} // namespace rdmanet::test
