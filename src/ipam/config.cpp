#include <rdmanet/ipam/config.hpp>

#include "address_text.hpp"
#include "store_keys.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <limits>
#include <set>
#include <utility>

namespace rdmanet::ipam {
namespace {

using json::KnownKey;

// Routes and DNS settings: validated, then copied to the result.

template <class T>
std::optional<T> find_number(const json::Reader& object, std::string_view key) {
    const auto member = object.find(key);
    if (!member) return std::nullopt;
    return static_cast<T>(member->integer(0, std::numeric_limits<T>::max()));
}

std::string string_or_empty(const json::Reader& object, std::string_view key) {
    const auto member = object.find(key);
    return member ? member->string() : std::string();
}

std::vector<std::string> strings(const json::Reader& object, std::string_view key) {
    std::vector<std::string> texts;
    if (const auto member = object.find(key))
        for (const json::Reader& element : member->elements()) texts.push_back(element.string());
    return texts;
}

base::Route parse_route(const json::Reader& route, std::vector<std::string>& warnings) {
    const json::Reader dst = route.at("dst");
    const base::IpPrefix destination = prefix_in(dst, dst.string());
    if (destination.has_host_bits())
        warnings.push_back(fmt::format("{}: {} has host bits, which a route ignores", dst.path(), destination));
    const auto gateway = find_address(route, "gw");
    if (gateway) expect_family_of(destination, *gateway, route.at("gw"));
    return {.destination = destination,
            .gateway = gateway,
            .mtu = find_number<std::uint32_t>(route, "mtu"),
            .advmss = find_number<std::uint32_t>(route, "advmss"),
            .priority = find_number<std::uint32_t>(route, "priority"),
            .table = find_number<std::uint32_t>(route, "table"),
            .scope = find_number<std::uint8_t>(route, "scope")};
}

/// `routes` and `dns` of the `ipam` object. Throw ValueError.
std::vector<base::Route> parse_routes(const json::Reader& ipam, std::vector<std::string>& warnings) {
    std::vector<base::Route> routes;
    if (const auto member = ipam.find("routes"))
        for (const json::Reader& route : member->elements()) routes.push_back(parse_route(route, warnings));
    return routes;
}

base::Dns parse_dns(const json::Reader& ipam) {
    const auto dns = ipam.find("dns");
    if (!dns) return {};
    return {.nameservers = strings(*dns, "nameservers"),
            .domain = string_or_empty(*dns, "domain"),
            .search = strings(*dns, "search"),
            .options = strings(*dns, "options")};
}

// The known keys of the `ipam` object.

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

// A key of whereabouts that is an error.
constexpr KnownKey kRefused[] = {{"node_slice_size"}};

constexpr KnownKey kKubernetesKeys[] = {{"kubeconfig"},       {"k8s_api_root"}, {"connectTimeoutMs"},
                                        {"requestTimeoutMs"}, {"addTimeoutMs"}, {"$comment"}};

/// Warns of keys in the objects of a list. A value that is not a list, or an element that is not an object, is
/// refused when it is read.
void warn_of_elements(const json::Reader& ipam, std::string_view list, std::span<const KnownKey> known,
                      json::KeyWarnings& warnings) {
    const auto member = ipam.find(list);
    if (!member || !member->is_array()) return;
    for (const json::Reader& element : member->elements())
        if (element.is_object()) json::warn_of_keys(element, {known}, warnings);
}

/// Warns of unknown keys of the object and its parts, and of keys that ask for addresses that are unique in the
/// cluster.
void warn_of_keys(const json::Reader& ipam, json::KeyWarnings& warnings) {
    json::warn_of_keys(ipam, {kUsed, kRefused, kMeaningless}, warnings);
    if (const auto kubernetes = ipam.find("kubernetes"); kubernetes && kubernetes->is_object())
        json::warn_of_keys(*kubernetes, {kKubernetesKeys}, warnings);
    warn_of_elements(ipam, "ipRanges", kRangeKeys, warnings);
    warn_of_elements(ipam, "routes", kRouteKeys, warnings);
    warn_of_elements(ipam, "addresses", kAddressKeys, warnings);
    if (const auto dns = ipam.find("dns"); dns && dns->is_object()) json::warn_of_keys(*dns, {kDnsKeys}, warnings);
}

constexpr std::int64_t kMostCooldown = 86400;
constexpr std::size_t kMostRanges = 256;         // an attachment gets an address of each
constexpr std::size_t kLongestNetworkName = 253; // the longest that whereabouts can store: a DNS-1123 subdomain

/// Settings for every range and static address.
struct Common {
    std::string network_name;
    bool overlapping = true;
    bool exclude_gateway = true;
    bool enable_l3 = false;

    [[nodiscard]] std::string space_of(const base::IpPrefix& subnet) const {
        return overlapping ? network_name : fmt::format("{}@{}/{}", network_name, subnet.network(), subnet.length());
    }
};

bool boolean_or(const json::Reader& object, std::string_view key, bool otherwise) {
    const auto member = object.find(key);
    return member ? member->boolean() : otherwise;
}

std::string parse_network_name(const json::Reader& ipam) {
    const auto member = ipam.find_filled("network_name");
    if (!member) return {};
    std::string name = member->string();
    if (name.size() > kLongestNetworkName || name.find('@') != std::string::npos || !base::is_printable_utf8(name))
        throw member->unexpected(fmt::format("up to {} bytes without '@' and control characters", kLongestNetworkName));
    return name;
}

/// `element` is the ipam object or an element of `ipRanges`.
ConfiguredRange parse_element(const json::Reader& element, const Common& common, Remarks& remarks) {
    const Edges edges = boolean_or(element, "enable_l3", common.enable_l3) ? Edges::handed_out : Edges::kept_free;
    Range range = parse_range(element, edges, remarks);
    std::string space = common.space_of(range.subnet());
    return {.range = std::move(range), .space = std::move(space)};
}

/// Sets the gateway of every range that has none and whose subnet contains it. Other families never match.
void apply_gateway(const json::Reader& ipam, std::vector<ConfiguredRange>& ranges, std::vector<std::string>& warnings) {
    const auto gateway = find_address(ipam, "gateway");
    if (!gateway) return;
    bool contained = false;
    for (ConfiguredRange& range : ranges) {
        if (!range.range.subnet().contains(*gateway)) continue;
        contained = true;
        if (!range.gateway) range.gateway = gateway;
    }
    if (!contained)
        warnings.push_back(fmt::format("{}: {} is outside all ranges, so no address gets it: correct or remove it",
                                       ipam.at("gateway").path(), *gateway));
}

void apply_own_gateway(const json::Reader& element, ConfiguredRange& range) {
    range.gateway = find_address(element, "gateway");
    if (range.gateway && !range.range.subnet().contains(*range.gateway))
        throw element.at("gateway").unexpected(fmt::format("an address in {}", range.range.subnet()));
}

/// The routers' addresses: the gateways of the ranges and of the routes.
std::set<base::IpAddress> routers_of(const std::vector<ConfiguredRange>& ranges, const std::vector<Route>& routes) {
    std::set<base::IpAddress> routers;
    for (const ConfiguredRange& range : ranges)
        if (range.gateway) routers.insert(*range.gateway);
    for (const Route& route : routes)
        if (route.gateway) routers.insert(*route.gateway);
    return routers;
}

void keep_free(const std::set<base::IpAddress>& addresses, std::vector<ConfiguredRange>& ranges) {
    for (const base::IpAddress& address : addresses)
        for (ConfiguredRange& range : ranges)
            if (range.range.contains(address)) range.range.remove({{address.value(), address.value()}});
}

void expect_usable(const ConfiguredRange& range, const json::Reader& element) {
    if (!range.range.usable().empty()) return;
    throw json::ValueError(element.at("range").path(),
                           fmt::format("no address of {} is left to lease, because excludes and gateways take all of "
                                       "them: enlarge the range, or exclude less",
                                       range.range));
}

/// The elements of the range list, `range` first.
std::vector<json::Reader> range_elements(const json::Reader& ipam, std::vector<std::string>& warnings) {
    std::vector<json::Reader> elements;
    if (ipam.find_filled("range"))
        elements.push_back(ipam);
    else
        for (const std::string_view key : {"range_start", "range_end", "exclude"})
            if (const auto stray = ipam.find(key))
                warnings.push_back(fmt::format("{}: ignored, because \"range\" is not set", stray->path()));
    const auto more = ipam.find("ipRanges");
    if (!more) return elements;
    for (json::Reader& element : more->elements()) elements.push_back(std::move(element));
    if (elements.size() > kMostRanges)
        throw json::ValueError(more->path(),
                               fmt::format("expected up to {} ranges, found {}", kMostRanges, elements.size()));
    return elements;
}

std::vector<ConfiguredRange> parse_ranges(const json::Reader& ipam, const Common& common,
                                          const std::vector<Route>& routes, Remarks& remarks) {
    const std::vector<json::Reader> elements = range_elements(ipam, remarks.warnings);
    const bool has_range = ipam.find_filled("range").has_value();
    std::vector<ConfiguredRange> ranges;
    for (std::size_t at = 0; at < elements.size(); ++at) {
        ranges.push_back(parse_element(elements[at], common, remarks));
        if (at > 0 || !has_range) apply_own_gateway(elements[at], ranges.back());
    }
    apply_gateway(ipam, ranges, remarks.warnings);
    if (common.exclude_gateway) keep_free(routers_of(ranges, routes), ranges);
    for (std::size_t at = 0; at < ranges.size(); ++at) expect_usable(ranges[at], elements[at]);
    return ranges;
}

/// The first address of a prefix means the network, or any of its routers (RFC 4291, section 2.6.1); the last one
/// means all of its hosts. As with ranges, both families reserve both addresses unless enable_l3 says otherwise. A
/// prefix of one or two addresses has neither (RFC 3021, RFC 6164).
void expect_host(const base::IpPrefix& address, const Common& common, const json::Reader& at) {
    if (common.enable_l3 || address.length() + 2 > base::address_bits(address.family())) return;
    if (bounds_of(address, Edges::kept_free).contains(address.address().value())) return;
    throw at.unexpected(
        fmt::format("an address other than {} and {}, which are reserved (\"enable_l3\": true makes them usable)",
                    address.network(), address.last()));
}

StaticAddress parse_static(const json::Reader& element, const Common& common,
                           const std::vector<ConfiguredRange>& ranges) {
    const json::Reader at = element.at("address");
    const base::IpPrefix address = prefix_in(at, at.string());
    expect_assignable(address.address(), address.address(), at);
    expect_host(address, common, at);
    const auto gateway = find_address(element, "gateway");
    if (gateway) expect_family_of(address, *gateway, element.at("gateway"));
    std::string space = common.space_of(address);
    for (const ConfiguredRange& range : ranges)
        if (range.range.subnet().contains(address.address())) return {address, gateway, range.space};
    return {address, gateway, std::move(space)};
}

std::vector<StaticAddress> parse_addresses(const json::Reader& ipam, const Common& common,
                                           const std::vector<ConfiguredRange>& ranges) {
    std::vector<StaticAddress> addresses;
    const auto member = ipam.find("addresses");
    if (!member) return addresses;
    std::set<base::IpAddress> seen;
    for (const json::Reader& element : member->elements()) {
        addresses.push_back(parse_static(element, common, ranges));
        if (!seen.insert(addresses.back().address.address()).second)
            throw json::ValueError(element.path(), fmt::format("{} is listed twice: remove one of the two",
                                                               addresses.back().address.address()));
    }
    return addresses;
}

void parse_members(const json::Reader& ipam, const std::string& root, Config& config) {
    const Common common{.network_name = parse_network_name(ipam),
                        .overlapping = boolean_or(ipam, "enable_overlapping_ranges", true),
                        .exclude_gateway = boolean_or(ipam, "exclude_gateway", true),
                        .enable_l3 = boolean_or(ipam, "enable_l3", false)};
    config.routes = parse_routes(ipam, config.warnings);
    Remarks remarks;
    config.ranges = parse_ranges(ipam, common, config.routes, remarks);
    config.warnings.insert(config.warnings.end(), remarks.warnings.begin(), remarks.warnings.end());
    config.fault = std::move(remarks.fault);
    config.addresses = parse_addresses(ipam, common, config.ranges);
    if (config.ranges.empty() && config.addresses.empty())
        throw json::ValueError(ipam.path(),
                               "nothing to allocate from: expected \"range\", \"ipRanges\" or \"addresses\"");
    config.dns = parse_dns(ipam);
    if (const auto cooldown = ipam.find("cooldown"))
        config.cooldown = std::chrono::seconds(cooldown->integer(0, kMostCooldown));
    choose_store(ipam, root, config);
}

} // namespace

Config parse_config(const json::Reader& ipam, const std::string& root) {
    ipam.expect_object();
    Config config;
    json::KeyWarnings keys;
    warn_of_keys(ipam, keys);
    config.warnings = std::move(keys.texts);
    config.useless_keys = std::move(keys.useless);
    try {
        parse_members(ipam, root, config);
    } catch (base::Error& error) {
        json::add_unknown_keys(error, config.useless_keys);
        throw;
    }
    return config;
}

} // namespace rdmanet::ipam
