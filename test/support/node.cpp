#include "support/node.hpp"

#include "support/patience.hpp"
#include "support/process.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <thread>
#include <utility>
#include <vector>

namespace rdmanet::test {

using base::concat;
namespace fs = std::filesystem;

Pod::Pod(std::string name) : name_(std::move(name)) {
    shell(concat("ip netns add ", name_, " && ip -netns ", name_, " link set lo up"));
}

Pod::~Pod() {
    if (exists_) (void)test::succeeds(concat("ip netns delete ", name_));
}

std::string Pod::run(const std::string& command) const {
    return shell(concat("exec ip netns exec ", name_, " ", command));
}

bool Pod::succeeds(const std::string& command) const {
    return test::succeeds(concat("exec ip netns exec ", name_, " ", command));
}

void Pod::destroy() {
    shell(concat("ip netns delete ", name_));
    exists_ = false;
}

VethParent::VethParent(std::string name, unsigned mtu) : name_(std::move(name)) {
    // Without link-local addresses, and when the link watch has seen it: what changes by itself while a test remembers
    // the node.
    shell(concat("ip -batch - <<END\nlink add ", name_, " mtu ", mtu, " type veth peer name ", name_, "peer\nlink set ",
                 name_, " addrgenmode none\nlink set ", name_, "peer addrgenmode none\nlink set ", name_,
                 " up\nlink set ", name_, "peer up\nEND\nfor i in $(seq 600); do [ \"$(</sys/class/net/", name_,
                 "/operstate) $(</sys/class/net/", name_, "peer/operstate)\" = 'up up' ] && break; sleep 0.01; done"));
}

VethParent::~VethParent() {
    (void)test::succeeds(concat("ip link delete ", name_));
}

namespace {

/// PFs with an RDMA device, in the order of their names.
std::vector<std::string> rdma_parents() {
    std::vector<std::string> names;
    if (!fs::exists("/sys/class/infiniband")) return names;
    for (const auto& entry : fs::directory_iterator("/sys/class/net"))
        if (fs::exists(entry.path() / "device/infiniband") && !fs::exists(entry.path() / "device/physfn"))
            names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace

std::string rdma_parent(unsigned number) {
    const auto names = rdma_parents();
    if (number >= names.size()) return {};
    const std::string& name = names[number];
    shell(concat("ip link set ", name, " addrgenmode none && ip link set ", name, " up; for i in $(seq 600); do ",
                 "[ $(</sys/class/net/", name, "/operstate) = up ] && break; sleep 0.02; done"));
    return names[number];
}

std::string rdma_device_of(const std::string& parent) {
    for (const auto& entry : fs::directory_iterator(concat("/sys/class/net/", parent, "/device/infiniband")))
        return entry.path().filename();
    return {};
}

bool kernel_has(const std::string& link_kind) {
    static std::map<std::string, bool> known;
    const auto found = known.find(link_kind);
    if (found != known.end()) return found->second;
    return known[link_kind] = succeeds(concat("modprobe ", link_kind,
                                              " 2>/dev/null; ip link add probe0 type veth peer name probe1 && "
                                              "ip link add link probe0 name probe2 type ",
                                              link_kind, "; status=$?; ip link delete probe0; exit $status"));
}

std::string UnchangedNode::difference() const {
    const auto deadline = base::Deadline::in(kPatience);
    for (;;) {
        std::string text = before_.difference_to(Snapshot::take(numbers_));
        if (text.empty() || deadline.passed()) return text;
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
}

} // namespace rdmanet::test
