#include "support/infiniband_node.hpp"
#include "support/concat.hpp"

#include "support/node.hpp"
#include "support/patience.hpp"
#include "support/process.hpp"
#include "support/vf_node.hpp"

#include <rdmanet/base/error.hpp>

#include <filesystem>
#include <system_error>

namespace rdmanet::test {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPf = "0001:00:00.0"; // the first card's

std::string directory_of(const std::string& address) {
    return concat("/sys/bus/pci/devices/", address);
}

} // namespace

InfinibandNode::InfinibandNode(const std::string& mode, const std::string& nic) : nic_(nic) {
    if (!set_rdma_mode(mode)) throw base::Error("the RDMA namespace mode can't be set: a namespace is left");
    shell("modprobe ib_ipoib");
    for (const char* pf : {kPf, "0002:00:00.0"}) {
        if (!fs::exists(directory_of(pf))) continue;
        const std::string parent = netdev(pf);
        ip_batch(concat("link set ", parent, " addrgenmode none\nlink set ", parent, " up\n"));
        wait_until_up(parent);
        parents_.push_back(parent);
    }
}

InfinibandNode::~InfinibandNode() {
    try {
        set_vfs(directory_of(kPf), 0);
    } catch (const base::Error&) { // the card is gone
    }
    (void)succeeds("modprobe -r ib_ipoib");
    (void)set_rdma_mode("shared");
}

std::string InfinibandNode::vf(unsigned number) {
    return concat("0001:00:01.", number);
}

std::string InfinibandNode::netdev(const std::string& address) {
    std::string name;
    (void)comes_true([&] {
        std::error_code gone;
        for (const auto& entry : fs::directory_iterator(directory_of(address) + "/net", gone))
            name = entry.path().filename();
        return !name.empty();
    });
    return name;
}

void InfinibandNode::make_vfs(unsigned number) const {
    set_vfs(directory_of(kPf), number);
    for (unsigned vf_number = 0; vf_number < number; ++vf_number)
        shell(concat("ip link set ", netdev(vf(vf_number)), " addrgenmode none"));
}

} // namespace rdmanet::test
