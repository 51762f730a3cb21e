#include "support/node.hpp"
#include "support/concat.hpp"

#include "support/named_netns.hpp"
#include "support/patience.hpp"
#include "support/process.hpp"

#include <rdmanet/base/error.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

namespace rdmanet::test {

namespace fs = std::filesystem;

std::string line_of(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

void ip_batch(const std::string& commands) {
    const ProcessResult result = run_process({"ip", "-batch", "-"}, {.input = commands});
    if (result.exit_status != 0) throw base::Error(concat("ip -batch: ", result.err));
}

void wait_until_up(const std::string& interface) {
    (void)comes_true([&] { return line_of(concat("/sys/class/net/", interface, "/operstate")) == "up"; });
}

Pod::Pod(std::string name) : name_(std::move(name)) {
    add_netns(name_);
}

Pod::~Pod() {
    try {
        if (exists_) delete_netns(name_);
    } catch (const base::Error&) { // the test may have deleted it
    }
}

std::string Pod::run(const std::string& command) const {
    return shell(concat("ip netns exec ", name_, " ", command));
}

bool Pod::succeeds(const std::string& command) const {
    return test::succeeds(concat("ip netns exec ", name_, " ", command));
}

void Pod::destroy() {
    delete_netns(name_);
    exists_ = false;
}

VethParent::VethParent(std::string name, unsigned mtu) : name_(std::move(name)) {
    // No link-local addresses, and waits for linkwatch_event(), so that nothing changes by itself while a test
    // compares the node.
    const std::string peer = name_ + "peer";
    ip_batch(concat("link add ", name_, " mtu ", mtu, " type veth peer name ", peer, "\nlink set ", name_,
                    " addrgenmode none\nlink set ", peer, " addrgenmode none\nlink set ", name_, " up\nlink set ", peer,
                    " up\n"));
    wait_until_up(name_);
    wait_until_up(peer);
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
    static std::map<std::string, std::string> prepared; // index by name, because another card may have the name now
    const std::string ifindex = line_of(concat("/sys/class/net/", name, "/ifindex"));
    if (std::exchange(prepared[name], ifindex) != ifindex) {
        ip_batch(concat("link set ", name, " addrgenmode none\nlink set ", name, " up\n"));
        wait_until_up(name);
    }
    return name;
}

std::string rdma_device_of(const std::string& parent) {
    for (const auto& entry : fs::directory_iterator(concat("/sys/class/net/", parent, "/device/infiniband")))
        return entry.path().filename();
    return {};
}

bool is_initial_pid_namespace() {
    return shell("readlink /proc/self/ns/pid") == "pid:[4026531836]\n"; // PROC_PID_INIT_INO, include/linux/proc_ns.h
}

bool kernel_has(const std::string& link_kind) {
    static std::map<std::string, bool> known;
    const auto found = known.find(link_kind);
    if (found != known.end()) return found->second;
    // A bridge stays when probe0 is deleted.
    return known[link_kind] = succeeds(concat("modprobe ", link_kind,
                                              " 2>/dev/null; ip link add probe0 type veth peer name probe1 && "
                                              "ip link add link probe0 name probe2 type ",
                                              link_kind,
                                              "; status=$?; ip link delete probe2 2>/dev/null; ip link delete probe0; "
                                              "exit $status"));
}

namespace {

/// Waits for the end of namespaces that nobody has any more. The kernel ends them in their order, and its RCU
/// callbacks drop some of their users. The deletion of a link waits for such callbacks, and the last namespace takes a
/// link along.
void outlive_namespaces() {
    ip_batch("link add barrier0 type veth peer name barrier1\nlink delete barrier0\n");
    add_netns("barrier");
    ip_batch("link add barrier0 type veth peer name barrier1 netns barrier\n");
    delete_netns("barrier");
    if (!comes_true([] { return !fs::exists("/sys/class/net/barrier0"); }))
        throw base::Error("a network namespace does not end");
}

/// All GIDs of a device's first port.
std::string gids_of(const std::string& device) {
    std::string gids;
    for (unsigned index = 0;; ++index) {
        const std::string path = concat("/sys/class/infiniband/", device, "/ports/1/gids/", index);
        if (!fs::exists(path)) return gids;
        gids += line_of(path) + '\n';
    }
}

/// Waits for GIDs that follow changed addresses. The kernel changes them one after the other, so the GID of another
/// address comes and goes after them.
void outlast_gids() {
    for (const std::string& parent : rdma_parents()) {
        const std::string device = rdma_device_of(parent);
        const bool usable = line_of(concat("/sys/class/net/", parent, "/type")) == "1" &&
                            line_of(concat("/sys/class/net/", parent, "/operstate")) == "up";
        if (!usable || gids_of(device).find("0000:0000:0000:0000:0000:0000:0000:0000") == std::string::npos) continue;
        for (const bool present : {true, false}) {
            ip_batch(concat("address ", present ? "add" : "delete", " 169.254.254.254/32 dev ", parent, '\n'));
            if (!comes_true([&] { return (gids_of(device).find(":ffff:a9fe:fefe") != std::string::npos) == present; }))
                throw base::Error(concat("the GIDs of ", device, " do not follow its addresses"));
        }
        return;
    }
}

} // namespace

std::string UnchangedNode::difference() const {
    constexpr int kMostBarriers = 5; // a reference that is dropped by a callback may lead to another one
    std::string difference = before_.difference_to(Snapshot::take(numbers_));
    for (int barriers = 0; !difference.empty() && barriers < kMostBarriers; ++barriers) {
        outlive_namespaces();
        outlast_gids();
        difference = before_.difference_to(Snapshot::take_settled(numbers_));
    }
    return difference;
}

} // namespace rdmanet::test
