#include "stage.hpp"

#include "sampling.hpp"

#include "support/concat.hpp"
#include "support/lease_lines.hpp"
#include "support/patience.hpp"

#include <rdmanet/base/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

namespace rdmanet::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNetwork = "fault-net";
constexpr const char* kPod = "fault-pod";
const fs::path kState = "/run/rdmanet-fault/state";
const fs::path kDelegate = "/run/rdmanet-fault/host-local";
const fs::path kPlugins = "/run/rdmanet-fault/plugins";

constexpr const char* kRanges = R"("range":"10.99.0.0/24","gateway":"10.99.0.1","ipRanges":[{"range":"fd99::/64"}],)"
                                R"("routes":[{"dst":"0.0.0.0/0"},{"dst":"10.97.0.0/16","gw":"10.99.0.254"}]})";

/// Of test/cluster/cluster.sh; empty without one.
std::string cluster() {
    const char* directory = std::getenv("RDMANET_CLUSTER");
    return directory == nullptr ? "" : directory;
}

bool uses_cluster = false; // the stage at hand
bool uses_blocks = false;

/// An address space that no earlier state directory of this machine has left blocks in.
int space_number = 0;
std::string space() {
    return concat("fault-", ::getpid(), '-', space_number);
}

constexpr const char* kReach = R"("kubernetes":{"kubeconfig":"/etc/cni/net.d/fault-test.kubeconfig"},)";

/// Each ADD takes a block of one for the address that the configuration sets, and each DEL gives it back.
std::string addresses_in_blocks() {
    return concat(R"({"type":"rdmanet","network_name":")", space(), R"(","nodeName":")", kNetwork, "\",", kReach,
                  R"("addresses":[{"address":"10.99.1.9/24"}],)", kRanges);
}

void declare_ranges() {
    const auto declare = [](const char* name, const char* members) {
        shell(concat(cluster(), R"(/apply '{"apiVersion":"rdmanet.cni/v1alpha1","kind":"AddressRange","metadata":{)",
                     R"("name":")", space(), '-', name, R"("},"spec":{"networkName":")", space(), "\",", members,
                     "}}' /apis/rdmanet.cni/v1alpha1/addressranges"));
    };
    declare("v4", R"("range":"10.99.0.0/23","requestable":"10.99.1.0/24")");
    declare("v6", R"("range":"fd99::/64")");
}

std::string store_of(Ipam ipam) {
    return ipam == Ipam::cluster ? kReach : "";
}

std::string addresses_from(Ipam ipam) {
    if (ipam == Ipam::blocks) return addresses_in_blocks();
    if (ipam == Ipam::host_local)
        return concat(R"({"type":"host-local","dataDir":")", kDelegate.string(), R"(","subnet":"10.98.0.0/24"})");
    return concat(R"({"type":"rdmanet",)", store_of(ipam), kRanges);
}

/// Names of files and of objects, a line each.
std::set<std::string> lines_of(const std::string& command) {
    std::set<std::string> lines;
    std::istringstream stream(shell(command));
    for (std::string line; std::getline(stream, line);) lines.insert(line);
    return lines;
}

std::set<std::string> records_and_blocks_of_one() {
    return lines_of(concat("find ", kState.string(), "/attachments -name '*.json' 2>/dev/null || true; ", cluster(),
                           "/get /apis/rdmanet.cni/v1alpha1/addressblocks | jq --raw-output ",
                           R"('.items[] | select(.spec.networkName == ")", space(),
                           R"(" and .spec.size == 1) | .metadata.name')"));
}

std::set<std::string> leases_in_cluster() {
    const std::string get = concat(cluster(), "/get ");
    return lines_of(concat("for pool in 10.99.0.0-24 fd99---64; do ", get,
                           "ippools/$pool | jq -r '.spec.allocations // {} | to_entries[] | tostring'; done; ", get,
                           "overlappingrangeipreservations | jq -r '.items[].metadata.name'; "
                           "find ",
                           kState.string(), "/attachments -name '*.json' 2>/dev/null || true"));
}

/// Until the server has done what anybody asked of it, and the plugin may be sure of that.
void let_a_minute_pass() {
    const bool is_quiet = uses_blocks && !let_a_minute_pass_for_blocks(kState / "blocks");
    if (!is_quiet)
        wait_until(concat(
            cluster(), "/get /metrics | grep -q '^apiserver_current_inflight_requests{request_kind=\"mutating\"} 0'"));
    shell(concat("grep -lr '\"leaseStore\"' ", kState.string(),
                 "/attachments 2>/dev/null | while read -r record; do "
                 "sed -i -E 's/(\"unsettledUntil\": ?)[0-9]+/\\11/' \"$record\"; done; ",
                 binary(), " gc --state-dir ", kState.string(), " >/dev/null 2>&1 || true"));
}

std::string with_prev_result(const std::string& config, const std::string& result) {
    return concat(config.substr(0, config.size() - 1), R"(,"prevResult":)", result, '}');
}

/// Version 1.1.0 introduced GC, and host-local knows it since its release 1.4. The older one gets 1.0.0 instead.
void install_host_local() {
    fs::create_directories(kPlugins);
    shell(concat("cat >", kPlugins.string(), "/host-local <<'END'\n#!/bin/sh\n",
                 R"(sed 's/"cniVersion":"1.1.0"/"cniVersion":"1.0.0"/' | exec /usr/lib/cni/host-local)", "\nEND\n",
                 "chmod 755 ", kPlugins.string(), "/host-local"));
}

/// Without duplicate address detection a new parent settles at once. This saves two seconds for each parent.
void switch_off_duplicate_address_detection() {
    shell("echo 0 > /proc/sys/net/ipv6/conf/all/accept_dad; echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad");
}

/// Waits until duplicate address detection has ended, because a snapshot taken before would differ later.
void wait_for_quiet() {
    wait_until("test -z \"$(ip -6 address show tentative)\"");
}

} // namespace

NodeState NodeState::take(Numbers numbers) {
    NodeState state;
    state.numbers_ = numbers;
    state.snapshot_ = Snapshot::take(numbers);
    // host-local keeps two files for good. They are not leases.
    if (fs::exists(kDelegate / kNetwork))
        for (const auto& entry : fs::directory_iterator(kDelegate / kNetwork)) {
            const std::string name = entry.path().filename();
            if (name != "lock" && name.find("last_reserved_ip") == std::string::npos)
                state.others_.insert(concat("host-local: ", name));
        }
    if (uses_cluster) state.others_.merge(uses_blocks ? records_and_blocks_of_one() : leases_in_cluster());
    return state;
}

std::string NodeState::difference_to(const NodeState& later) const {
    std::string text = snapshot_.difference_to(later.snapshot_);
    for (const std::string& lease : others_)
        if (!later.others_.contains(lease)) text += concat("- ", lease, '\n');
    for (const std::string& lease : later.others_)
        if (!others_.contains(lease)) text += concat("+ ", lease, '\n');
    return text;
}

std::string difference_from(const NodeState& before) {
    if (uses_cluster) let_a_minute_pass();
    std::string text;
    (void)comes_true([&] {
        text = before.difference_to(NodeState::take(before.numbers()));
        return text.empty();
    });
    return text;
}

Stage::Stage(std::string kind, Ipam ipam) : kind_(std::move(kind)), ipam_(ipam) {
    ::setenv("RDMANET_STATE_DIR", kState.c_str(), 1);
    uses_blocks = ipam == Ipam::blocks;
    uses_cluster = ipam == Ipam::cluster || uses_blocks;
    if (uses_cluster)
        shell(concat("mkdir -p /etc/cni/net.d && cp ", cluster(),
                     "/rdmanet.kubeconfig /etc/cni/net.d/fault-test.kubeconfig"));
    forget_state();
    fs::remove_all(kDelegate);
    fs::create_directories(kState.parent_path());
    if (ipam == Ipam::host_local) install_host_local();
    if (uses_blocks)
        shell(concat(cluster(), R"(/apply '{"apiVersion":"v1","kind":"Node","metadata":{"name":")", kNetwork,
                     R"x("},"status":{"nodeInfo":{"bootID":"'"$(cat /proc/sys/kernel/random/boot_id)"'"}}}' )x",
                     "/api/v1/nodes || true")); // from the case before
    switch_off_duplicate_address_detection();
    prepare();
}

void Stage::prepare() {
    ground_ = make_ground(kind_);
    config_ = config_with("1.0.0", "");
    create_pod();
    wait_for_quiet();
}

std::string Stage::config_with(const std::string& version, const std::string& members) const {
    return concat(R"({"cniVersion":")", version, R"(","name":")", kNetwork, R"(","type":")", ground_->type(), R"(",)",
                  members, ground_->members(),
                  ground_->has_addresses() ? concat(R"(,"ipam":)", addresses_from(ipam_)) : "", '}');
}

Stage::~Stage() {
    pod_.reset();
    fs::remove_all(kState.parent_path());
    ::unsetenv("RDMANET_STATE_DIR");
}

PluginCall Stage::call(const std::string& command) const {
    const std::string netns = concat("/run/netns/", kPod);
    const std::string earlier = ground_->earlier_result(netns);
    return {.command = command,
            .container = "fault-container",
            .netns = netns,
            .ifname = ground_->ifname(),
            .args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=fault;K8S_POD_UID=4711",
            .config = earlier.empty() ? config_ : with_prev_result(config_, earlier)};
}

PluginCall Stage::call_after(const std::string& result, const std::string& command) const {
    PluginCall later = call(command);
    later.config = with_prev_result(config_, result);
    return later;
}

std::string Stage::state_directory() const {
    return kState;
}

std::string Stage::record() const {
    std::vector<std::string> paths;
    for (const auto& entry : fs::directory_iterator(kState / "attachments")) paths.push_back(entry.path());
    if (paths.size() != 1) throw base::Error(concat("there are ", paths.size(), " records, expected one"));
    return paths.front();
}

std::string complaint(const std::string& what, const ProcessResult& result) {
    return concat(what, ": exit status ", result.exit_status, result.timed_out ? " after the time limit: " : ": ",
                  result.out, result.err);
}

std::string Stage::run(const std::string& command) const {
    const ProcessResult result = call(command).run();
    if (result.exit_status != 0) return complaint(command, result);
    if (command != "ADD" && !result.out.empty()) return complaint(concat(command, " printed something"), result);
    return {};
}

std::string Stage::check(const std::string& result) const {
    const ProcessResult outcome = call_after(result, "CHECK").run();
    return outcome.exit_status == 0 ? "" : complaint("CHECK after an ADD that succeeded", outcome);
}

PluginCall Stage::collecting_call() const {
    return {.command = "GC",
            .container = "",
            .ifname = "",
            .path = ipam_ == Ipam::host_local ? kPlugins.string() : PluginCall{}.path,
            .config = config_with("1.1.0", R"("cni.dev/valid-attachments":[],)")};
}

std::string Stage::prepare_for(const std::string& command) {
    if (!has_pod()) create_pod();
    forget_state();
    if (command == "ADD") return {};
    const ProcessResult added = call("ADD").run();
    if (added.exit_status != 0) return complaint("ADD", added);
    result_ = added.out;
    if (command == "GC") destroy_pod();
    return {};
}

PluginCall Stage::prepared_call(const std::string& command) const {
    if (command == "GC") return collecting_call();
    return command == "CHECK" ? call_after(result_, command) : call(command);
}

std::string Stage::collect_as_runtime() const {
    const ProcessResult result = collecting_call().run();
    const bool delegate_cannot =
        ipam_ == Ipam::host_local && result.out.find("\"host-local\\\" GC") != std::string::npos;
    return delegate_cannot || (result.exit_status == 0 && result.out.empty()) ? "" : complaint("GC", result);
}

std::string Stage::collect_as_person() const {
    const ProcessResult result = run_process({binary(), "gc", "--state-dir", kState.string()});
    return result.exit_status == 0 ? "" : complaint("rdmanet gc", result);
}

std::string Stage::pay_debts(const ProcessResult& of) const {
    const auto owing = lines_of(concat("find ", kState.string(), "/attachments -name '*.json' -exec jq --raw-output ",
                                       "'select(.removalUnfinished and .leaseStore and (.leaseStore.released | not)) ",
                                       "| .containerID' {} + 2>/dev/null || true"));
    if (owing.empty()) return {};
    const bool is_said = of.err.find("still leased in the cluster") != std::string::npos;
    return (is_said ? "" : complaint("owes addresses and does not say so", of)) + collect_as_person();
}

void Stage::destroy_pod() {
    pod_.reset();
    ground_->wait_for_return();
}

void Stage::create_pod() {
    pod_ = std::make_unique<Pod>(kPod);
    ground_->furnish(*pod_);
}

void Stage::forget_state() {
    if (uses_cluster && fs::exists(kState)) let_a_minute_pass(); // what is owed would be forgotten with it
    fs::remove_all(kState);
    ++space_number; // the blocks of the directory that is gone are left alone for this boot
    if (uses_blocks) declare_ranges();
    if (ground_ != nullptr) config_ = config_with("1.0.0", "");
}

void Stage::reset() {
    pod_.reset();
    forget_state();
    fs::remove_all(kDelegate);
    ground_.reset(); // first, because there is only one card
    prepare();
}

std::vector<std::string> kinds_in_cluster() {
    std::size_t number = 0;
    std::vector<std::string> kinds;
    for (const char* kind : {"macvlan", "ipam-only"})
        if (is_turn(number++, 2)) kinds.emplace_back(kind);
    return kinds;
}

std::string missing_for(const std::string& kind, Ipam ipam) {
    if (::geteuid() != 0) return "root";
    if (std::string missing = missing_for(kind); !missing.empty()) return missing;
    if ((ipam == Ipam::cluster || ipam == Ipam::blocks) && cluster().empty())
        return "a Kubernetes API server (test/cluster/cluster.sh run)";
    if (ipam == Ipam::host_local && !fs::exists("/usr/lib/cni/host-local")) return "/usr/lib/cni/host-local";
    return {};
}

} // namespace rdmanet::test
