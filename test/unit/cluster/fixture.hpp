// A store in the API server that RDMANET_CLUSTER names (test/cluster/cluster.sh run). Each case has an address space
// of its own there.
#pragma once

#include "support/reporter.hpp"

#include <rdmanet/base/wait.hpp>
#include <rdmanet/cluster/pools_store.hpp>
#include <rdmanet/ipam/store.hpp>
#include <rdmanet/kube/api.hpp>

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::cluster::test {

using namespace std::chrono_literals;

inline constexpr const char* kNeedsServer = "a Kubernetes API server: run it by test/cluster/cluster.sh run";

inline std::optional<std::string> cluster_directory() {
    const char* directory = std::getenv("RDMANET_CLUSTER");
    return directory == nullptr ? std::nullopt : std::optional<std::string>(directory);
}

inline base::Deadline soon() {
    return base::Deadline::in(120s);
}
/// Repeats until it is true, or false after soon().
template <class Condition>
bool comes_true(Condition&& condition) {
    return base::wait_for(soon(), condition);
}
inline base::IpAddress ip(std::string_view text) {
    return base::IpAddress::parse(text).value();
}
inline base::IpPrefix prefix(std::string_view text) {
    return base::IpPrefix::parse(text).value();
}

inline ipam::Owner owner(const std::string& container, const std::string& pod, const std::string& ifname = "net1") {
    return {.key = {.network = "net", .container_id = container, .ifname = ifname},
            .pod_namespace = "default",
            .pod_name = pod,
            .pod_uid = "uid-of-" + pod,
            .netns_path = "/run/netns/" + container,
            .boot_id = "boot"};
}

inline std::string text_of(const std::vector<ipam::Lease>& leases) {
    std::string text;
    for (const ipam::Lease& lease : leases) text += (text.empty() ? "" : " ") + lease.address.to_string();
    return text;
}
inline std::string text_of(const ipam::ReserveOutcome& outcome) {
    if (const auto* granted = std::get_if<ipam::Granted>(&outcome)) return text_of(granted->leases);
    if (const auto* taken = std::get_if<ipam::Taken>(&outcome)) return "taken by " + taken->holder.owner.pod_name;
    return "exhausted";
}

/// An address space that no other case or run has.
inline std::string own_space() {
    static std::atomic<int> count{0};
    return "t" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

class ClusterFixture {
public:
    ClusterFixture() : space(own_space()) {
        if (!is_there()) rdmanet::test::skip(kNeedsServer);
    }
    [[nodiscard]] static bool is_there() { return cluster_directory().has_value(); }

    [[nodiscard]] std::unique_ptr<kube::Api> connect(const std::string& user = "rdmanet") const {
        return std::make_unique<kube::Api>(kube::read_kubeconfig(*cluster_directory() + "/" + user + ".kubeconfig"),
                                           http::Limits{.connect = 60s, .request = 60s});
    }

    [[nodiscard]] ipam::Claim claim(std::string_view subnet) const {
        const base::IpPrefix range = prefix(subnet);
        return {.space = space,
                .family = range.family(),
                .prefix_length = range.length(),
                .usable = {ipam::bounds_of(range, ipam::Edges::kept_free)},
                .wanted = std::nullopt,
                .cooldown = 0s};
    }
    [[nodiscard]] ipam::Claim wanting(std::string_view subnet, std::string_view address) const {
        ipam::Claim one = claim(subnet);
        one.wanted = ip(address);
        return one;
    }

    [[nodiscard]] WhereaboutsStore::Options options(const std::vector<std::string>& subnets) {
        WhereaboutsStore::Options options;
        options.name_space = "kube-system";
        for (const std::string& subnet : subnets) options.places.push_back({.space = space, .subnet = prefix(subnet)});
        options.before_claim = [this](const ipam::Lease& lease) { claimed.push_back(lease.address.to_string()); };
        return options;
    }

    std::string space;
    std::vector<std::string> claimed; // what was written down before it was sent
};

} // namespace rdmanet::cluster::test
