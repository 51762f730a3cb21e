#include "known_keys.hpp"

#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace rdmanet::ipam {
namespace {

using base::concat;

constexpr std::array<std::string_view, 16> kUsed{
    "type",      "range",           "range_start", "range_end", "exclude",      "ipRanges",
    "gateway",   "routes",          "dns",         "addresses", "network_name", "enable_overlapping_ranges",
    "enable_l3", "exclude_gateway", "cooldown",    "$comment"};

// Of whereabouts: about its controllers, locks and logs. Nothing here depends on them.
constexpr std::array<std::string_view, 11> kMeaningless{"datastore",
                                                        "log_file",
                                                        "log_level",
                                                        "configuration_path",
                                                        "sleep_for_race",
                                                        "leader_lease_duration",
                                                        "leader_renew_deadline",
                                                        "leader_retry_period",
                                                        "reconciler_cron_expression",
                                                        "optimistic_ipam",
                                                        "name"};

// Of whereabouts: about sharing a range between nodes.
constexpr std::array<std::string_view, 8> kClusterWide{"node_slice_size", "kubernetes",       "etcd_host",
                                                       "etcd_username",   "etcd_password",    "etcd_key_file",
                                                       "etcd_cert_file",  "etcd_ca_cert_file"};

template <std::size_t count>
bool is_among(const std::array<std::string_view, count>& keys, std::string_view key) {
    return std::any_of(keys.begin(), keys.end(), [&](auto known) { return base::equals_ignoring_case(known, key); });
}

} // namespace

void warn_of_keys(const json::Reader& ipam, std::vector<std::string>& warnings) {
    for (const auto& [key, value] : ipam.members()) {
        if (is_among(kUsed, key) || is_among(kMeaningless, key)) continue;
        const bool cluster_wide = is_among(kClusterWide, key) && !(value.is_string() && value.string().empty());
        if (cluster_wide)
            warnings.push_back(concat(value.path(),
                                      ": ignored by the embedded store: addresses are unique on this node "
                                      "only; give each node a range of its own"));
        else if (!is_among(kClusterWide, key))
            warnings.push_back(concat(value.path(), ": unknown key, ignored"));
    }
}

} // namespace rdmanet::ipam
