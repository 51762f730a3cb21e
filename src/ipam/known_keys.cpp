#include "known_keys.hpp"

#include <rdmanet/json/known_keys.hpp>

#include <algorithm>

namespace rdmanet::ipam {
namespace {

using json::KnownKey;

// test/e2e/readme_test.cpp compares this list with a table of docs/configuration.md.
constexpr KnownKey kUsed[] = {
    {"type"},      {"range"},           {"range_start"}, {"range_end"}, {"exclude"},      {"ipRanges"},
    {"gateway"},   {"routes"},          {"dns"},         {"addresses"}, {"network_name"}, {"enable_overlapping_ranges"},
    {"enable_l3"}, {"exclude_gateway"}, {"cooldown"},    {"store"},     {"kubernetes"},   {"configuration_path"},
    {"nodeName"},  {"$comment"},
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
    {"etcd_host"},
    {"etcd_username"},
    {"etcd_password"},
    {"etcd_key_file"},
    {"etcd_cert_file"},
    {"etcd_ca_cert_file"},
};

// Keys of whereabouts and of earlier versions that are an error.
constexpr KnownKey kRefused[] = {{"node_slice_size"}, {"etcd"}};

constexpr KnownKey kKubernetesKeys[] = {{"kubeconfig"},       {"k8s_api_root"}, {"connectTimeoutMs"},
                                        {"requestTimeoutMs"}, {"addTimeoutMs"}, {"$comment"}};

// Of earlier versions. Whoever has declared a range has said it there.
constexpr std::string_view kDeclared = "ignored, because an AddressRange says it: remove it";
constexpr KnownKey kOfRanges[] = {{"blockSize", kDeclared}, {"requestable", kDeclared}};

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
    json::warn_of_keys(ipam, {kOfRanges, kUsed, kRefused, kMeaningless}, warnings);
    if (const auto kubernetes = ipam.find("kubernetes"); kubernetes && kubernetes->is_object())
        json::warn_of_keys(*kubernetes, {kKubernetesKeys}, warnings);
    warn_of_elements(ipam, "ipRanges", kRangeKeys, warnings);
    warn_of_elements(ipam, "routes", kRouteKeys, warnings);
    warn_of_elements(ipam, "addresses", kAddressKeys, warnings);
    if (const auto dns = ipam.find("dns"); dns && dns->is_object()) json::warn_of_keys(*dns, {kDnsKeys}, warnings);
}

} // namespace rdmanet::ipam
