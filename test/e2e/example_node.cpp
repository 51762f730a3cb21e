#include "example_node.hpp"

#include "attachment_stage.hpp"

#include "support/concat.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/ip_address.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

namespace rdmanet::test {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPorts[] = {"eth1", "eth2"};
constexpr const char* kDevices[] = {"mlx5_0", "mlx5_1"};

/// Commands for `ip -batch`. The kernel only renames interfaces that are down. Without link-local addresses nothing
/// changes by itself later.
std::string rename(const std::string& from, const std::string& to) {
    return concat("link set ", from, " down\nlink set ", from, " name ", to, "\nlink set ", to,
                  " addrgenmode none\nlink set ", to, " up\n");
}

/// The kernel's notation: eight groups of four digits.
std::string gid_of(const base::IpAddress& address) {
    constexpr const char* kDigits = "0123456789abcdef";
    const auto bytes = address.bytes();
    std::string digits = address.is_v4() ? "00000000000000000000ffff" : "";
    for (std::size_t at = 0; at < address.byte_count(); ++at) {
        digits += kDigits[bytes[at] / 16];
        digits += kDigits[bytes[at] % 16];
    }
    for (std::size_t at = 4; at < digits.size(); at += 5) digits.insert(at, 1, ':');
    return digits;
}

/// GIDs of the device's first port that belong to an interface of that name.
std::set<std::string> gids_on(const std::string& device, const std::string& ifname) {
    const fs::path port = fs::path("/sys/class/infiniband") / device / "ports/1";
    std::set<std::string> gids;
    for (const auto& entry : fs::directory_iterator(port / "gids")) {
        std::string gid = line_of(entry.path());
        if (gid.find_first_not_of("0:") == std::string::npos) continue;
        if (line_of(port / "gid_attrs/ndevs" / entry.path().filename()) == ifname) gids.insert(std::move(gid));
    }
    return gids;
}

} // namespace

std::string ExampleNode::lacks() {
    static const std::string missing = [] {
        if (rdma_parent(1).empty()) return "two RDMA parents";
        if (!kernel_has("macvlan") || !kernel_has("ipvlan")) return "macvlan and ipvlan";
        return succeeds("modprobe 8021q") ? "" : "VLANs";
    }();
    return missing;
}

void ExampleNode::forget_earlier() {
    const char* chosen = std::getenv("RDMANET_STATE_DIR");
    const std::string directory = chosen != nullptr ? chosen : "/run/rdmanet";
    fs::remove_all(directory);
    fs::remove_all("/var/lib/cni/networks");
}

ExampleNode::ExampleNode() {
    forget_earlier();
    for (const unsigned number : {0U, 1U}) ports_[number] = rdma_parent(number);
    for (const unsigned number : {0U, 1U}) devices_[number] = rdma_device_of(ports_[number]);
    shell(concat("rdma dev set ", devices_[0], " name ", kDevices[0], " && rdma dev set ", devices_[1], " name ",
                 kDevices[1]));
    ip_batch(concat(rename(ports_[0], kPorts[0]), rename(ports_[1], kPorts[1]),
                    "link add link eth1 name eth1.100 type vlan id 100\nlink set eth1.100 addrgenmode none\n"
                    "link set eth1.100 up\n"));
    for (const char* name : {"eth1", "eth2", "eth1.100"}) wait_until_up(name);
    before_ = std::make_unique<UnchangedNode>();
}

ExampleNode::~ExampleNode() {
    try {
        ip_batch(concat("link delete eth1.100\n", rename(kPorts[0], ports_[0]), rename(kPorts[1], ports_[1])));
        shell(concat("rdma dev set ", kDevices[0], " name ", devices_[0], " && rdma dev set ", kDevices[1], " name ",
                     devices_[1]));
        forget_earlier();
    } catch (const std::exception& error) { // the next test reports what is missing
        std::fprintf(stderr, "%s\n", error.what());
    }
}

std::string ExclusiveExampleNode::lacks() {
    return VfNode::possible() ? ExampleNode::lacks() : "an SR-IOV RDMA NIC";
}

/// Reads the addresses while the PF still has the name that VfNode uses.
ExclusiveExampleNode::ExclusiveExampleNode() : addresses_{vfs_.vf(0), vfs_.vf(1), vfs_.vf(2), vfs_.vf(3)} {}

namespace {

std::string addresses_not_among(const std::set<std::string>& present, const std::string& result) {
    std::string missing;
    const json::Document document = json::Document::parse(result);
    for (const json::Reader& ip : document.root().at("ips").elements()) {
        const std::string address = ip.at("address").string();
        if (!present.contains(gid_of(base::IpPrefix::parse(address)->address())))
            missing += concat(missing.empty() ? "" : " ", address);
    }
    return missing;
}

std::set<std::string> gids_in(const Pod& pod) {
    std::istringstream stream(run_process({"ip", "netns", "exec", pod.name(), "sh", "-c",
                                           "grep -hs : /sys/class/infiniband/*/ports/*/gids/*"})
                                  .out);
    std::set<std::string> gids;
    for (std::string line; std::getline(stream, line);) gids.insert(line);
    return gids;
}

} // namespace

std::string addresses_without_gid(const std::string& result, const std::string& device, const std::string& ifname) {
    return addresses_not_among(gids_on(device, ifname), result);
}

std::string addresses_without_gid(const Pod& pod, const std::string& result) {
    return addresses_not_among(gids_in(pod), result);
}

std::string failure_of(const Pod& pod, const std::string& script) {
    const ProcessResult result =
        run_process({"ip", "netns", "exec", pod.name(), "bash", "-exo", "pipefail", "-c", script});
    return result.exit_status == 0 ? "" : concat(result.out, result.err);
}

} // namespace rdmanet::test
