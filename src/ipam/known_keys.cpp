#include "known_keys.hpp"

#include <rdmanet/json/known_keys.hpp>

namespace rdmanet::ipam {
namespace {

using json::KnownKey;

// test/e2e/readme_test.cpp compares this list with a table of docs/configuration.md.
constexpr KnownKey kUsed[] = {
    {"type"},      {"range"},           {"range_start"}, {"range_end"}, {"exclude"},      {"ipRanges"},
    {"gateway"},   {"routes"},          {"dns"},         {"addresses"}, {"network_name"}, {"enable_overlapping_ranges"},
    {"enable_l3"}, {"exclude_gateway"}, {"cooldown"},    {"$comment"},
};
constexpr KnownKey kRangeKeys[] = {
    {"range"}, {"range_start"}, {"range_end"}, {"exclude"}, {"gateway"}, {"enable_l3"}, {"$comment"},
};
constexpr KnownKey kRouteKeys[] = {
    {"dst"}, {"gw"}, {"mtu"}, {"advmss"}, {"priority"}, {"table"}, {"scope"}, {"$comment"},
};
constexpr KnownKey kAddressKeys[] = {{"address"}, {"gateway"}, {"$comment"}};
constexpr KnownKey kDnsKeys[] = {{"nameservers"}, {"domain"}, {"search"}, {"options"}, {"$comment"}};

// Keys for whereabouts' controllers, locks and logs. Nothing here depends on them.
constexpr KnownKey kMeaningless[] = {
    {"datastore"},
    {"log_file"},
    {"log_level"},
    {"sleep_for_race"},
    {"leader_lease_duration"},
    {"leader_renew_deadline"},
    {"leader_retry_period"},
    {"reconciler_cron_expression"},
    {"optimistic_ipam"},
    {"name"},
};

// Keys of whereabouts that name other configuration files.
constexpr KnownKey kElsewhere[] = {
    {"configuration_path", "ignored, this version reads no other file: put the keys of that file into \"ipam\""},
};

// Keys of whereabouts for sharing a range between nodes.
constexpr std::string_view kNodeOnly =
    "ignored, because the embedded store makes addresses unique on this node only: give each node a range of its own";
constexpr KnownKey kClusterWide[] = {
    {"node_slice_size", kNodeOnly}, {"kubernetes", kNodeOnly},        {"etcd_host", kNodeOnly},
    {"etcd_username", kNodeOnly},   {"etcd_password", kNodeOnly},     {"etcd_key_file", kNodeOnly},
    {"etcd_cert_file", kNodeOnly},  {"etcd_ca_cert_file", kNodeOnly},
};

/// Warns of keys in the objects of a list. A value that is not a list, or an element that is not an object, is
/// refused when it is read.
void warn_of_elements(const json::Reader& ipam, std::string_view list, std::span<const KnownKey> known,
                      json::KeyWarnings& warnings) {
    const auto member = ipam.find(list);
    if (!member || !member->is_array()) return;
    for (const json::Reader& element : member->elements())
        if (element.is_object()) json::warn_of_keys(element, {known}, warnings);
}

} // namespace

void warn_of_keys(const json::Reader& ipam, json::KeyWarnings& warnings) {
    json::warn_of_keys(ipam, {kUsed, kMeaningless, kElsewhere, kClusterWide}, warnings);
    warn_of_elements(ipam, "ipRanges", kRangeKeys, warnings);
    warn_of_elements(ipam, "routes", kRouteKeys, warnings);
    warn_of_elements(ipam, "addresses", kAddressKeys, warnings);
    if (const auto dns = ipam.find("dns"); dns && dns->is_object()) json::warn_of_keys(*dns, {kDnsKeys}, warnings);
}

} // namespace rdmanet::ipam
