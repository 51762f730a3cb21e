#include "store_choice.hpp"

#include "address_text.hpp"
#include "store_keys.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/block_cut.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace rdmanet::ipam {
namespace {

// A pool has all of its records in one object, which the API server reads and writes as a whole for each address.
constexpr unsigned kMostInOnePool = 4094;

/// Keys of whereabouts before 0.6, which kept its leases in etcd.
constexpr std::string_view kEtcdBefore06[] = {"etcd_host",     "etcd_username",  "etcd_password",
                                              "etcd_key_file", "etcd_cert_file", "etcd_ca_cert_file"};

const Range& smallest_of(const std::vector<ConfiguredRange>& ranges) {
    const auto smallest =
        std::min_element(ranges.begin(), ranges.end(), [](const ConfiguredRange& a, const ConfiguredRange& b) {
            return a.range.usable_count() < b.range.usable_count();
        });
    return smallest->range;
}

/// Earlier versions had it. Without its keys, the network would have its addresses from another store unasked.
[[noreturn]] void refuse_etcd(const std::string& where) {
    throw json::ValueError(where,
                           "this version has no store \"etcd\": remove \"etcd\", and set \"store\" to \"node\", or "
                           "remove \"store\" as well, so that pools or blocks of the cluster have the addresses");
}

void require_no_etcd(const json::Reader& ipam) {
    if (const auto etcd = ipam.find("etcd")) refuse_etcd(etcd->path());
}

StoreKind kind_of(const StoreKeys::Value& store) {
    for (const StoreKind kind : {StoreKind::node, StoreKind::whereabouts, StoreKind::blocks})
        if (store.text == to_string(kind)) return kind;
    if (store.text == "etcd") refuse_etcd(store.where);
    throw json::ValueError(store.where, fmt::format("expected \"node\", \"whereabouts\" or \"blocks\", found {}",
                                                    base::quoted(store.text)));
}

std::string by_key(const StoreKeys::Value& store) {
    if (store.file.empty()) return "chosen by \"store\" of the network";
    return fmt::format("chosen by \"store\" in the node's file {}", store.file);
}

/// The store of a network that has a cluster and does not say which one. Networks that use parts of one subnet may get
/// different ones here. Then what the cluster has recorded for the range decides.
StoreChoice by_size(const StoreKeys::Value& kubernetes, const std::vector<ConfiguredRange>& ranges) {
    if (ranges.empty()) return {.why = "chosen because the network has no range, so nodes have nothing to share"};
    const Range& smallest = smallest_of(ranges);
    const bool is_large = smallest.usable_count() > kMostInOnePool;
    return {.kind = is_large ? StoreKind::blocks : StoreKind::whereabouts,
            .why = fmt::format("chosen by size (range {} has {} {} usable addresses, and {} is set)", smallest,
                               is_large ? "more than" : "at most", kMostInOnePool, kubernetes.where),
            .open_to = {{StoreKind::whereabouts, {}}, {StoreKind::blocks, {}}}};
}

StoreChoice choice_of(const StoreKeys& keys, const json::Reader& ipam, const std::vector<ConfiguredRange>& ranges) {
    if (keys.store) return {.kind = kind_of(*keys.store), .why = by_key(*keys.store)};
    if (keys.etcd) refuse_etcd(keys.etcd->where);
    if (keys.kubernetes) return by_size(*keys.kubernetes, ranges);
    for (const std::string_view key : kEtcdBefore06)
        if (const auto old = find_text(ipam, key))
            throw json::ValueError(old->path(), "whereabouts has had no etcd since 0.6, and ignores it: set \"store\" "
                                                "to what the network shall use, or remove the key");
    return {};
}

void require_kubeconfig(const StoreKeys& keys, StoreChoice& choice) {
    if (!keys.kubeconfig && !keys.store)
        throw json::ValueError(
            keys.kubernetes->where,
            fmt::format("\"kubeconfig\" is missing: set it, here or in {}, or remove the key", kNodeFile));
    if (!keys.kubeconfig)
        throw json::ValueError(keys.store->where,
                               fmt::format("store \"{}\" needs \"kubernetes\": {{\"kubeconfig\": PATH}}, here "
                                           "or in {}: it says how the node reaches the API server",
                                           choice.kind, kNodeFile));
    choice.kubeconfig = keys.kubeconfig->text;
}

/// whereabouts' installer keeps its kubeconfig there.
void warn_of_borrowed_kubeconfig(Config& config) {
    if (config.store.kubeconfig.find("/whereabouts.d/") != std::string::npos)
        config.warnings.push_back(fmt::format("kubeconfig {} belongs to whereabouts, and removing whereabouts ends its "
                                              "token: give rdmanet a ServiceAccount and a kubeconfig of its own",
                                              config.store.kubeconfig));
}

// Of "::1" and of "::/64" whereabouts makes names that begin with '-', which the API server refuses.
bool begins_with_colon(const base::IpPrefix& subnet) {
    return subnet.network().to_string().starts_with(':');
}

/// A pool has a record for each attachment, and nothing that says to which of its ranges the record belongs.
void require_different_pools(const json::Reader& ipam, const Config& config) {
    std::set<std::pair<std::string, std::string>> pools;
    for (const ConfiguredRange& range : config.ranges) {
        const base::IpPrefix& subnet = range.range.subnet();
        if (begins_with_colon(subnet))
            throw json::ValueError(ipam.path(),
                                   fmt::format("range {} has no name that an API server takes: use a range "
                                               "that does not begin with \"::\"",
                                               range.range));
        if (!pools.emplace(range.space, fmt::format("{}/{}", subnet.network(), subnet.length())).second)
            throw json::ValueError(ipam.path(), fmt::format("two ranges are in subnet {}, for which store "
                                                            "\"whereabouts\" has one pool: use different subnets",
                                                            subnet));
    }
}

void require_name_of_object(const json::Reader& ipam, StoreKind kind) {
    const auto name = find_text(ipam, "network_name");
    if (name && !base::is_name_of_object(name->string()))
        throw name->unexpected(fmt::format(
            "lower-case letters, digits, '-' and '.', because store \"{}\" makes names of objects of it", kind));
}

void require_node_name(const StoreKeys& keys) {
    if (keys.node_name && !base::is_name_of_object(keys.node_name->text))
        throw json::ValueError(keys.node_name->where,
                               fmt::format("expected the name of a Node, of lower-case letters, digits, '-' and '.', "
                                           "found {}",
                                           base::quoted(keys.node_name->text)));
}

void warn_of_cooldown(const json::Reader& ipam, const Config& config, std::vector<std::string>& warnings) {
    const auto cooldown = ipam.find("cooldown");
    if (!cooldown || config.cooldown.count() == 0) return;
    warnings.push_back(fmt::format("{}: only the node that released an address waits for it, because store "
                                   "\"whereabouts\" has no place for the time: remove the key, unless that is enough",
                                   cooldown->path()));
}

/// In the node's file they are for those networks that use blocks.
void warn_of_keys_of_blocks(const json::Reader& ipam, StoreKind kind, std::vector<std::string>& warnings) {
    for (const char* key : {"blockSize", "requestable"})
        if (const auto member = ipam.find(key))
            warnings.push_back(
                fmt::format("{}: ignored, because the network uses store \"{}\", which has no blocks: remove it",
                            member->path(), kind));
}

/// Nothing records them there, so a range gives them as well.
void warn_of_static_addresses(const json::Reader& ipam, const Config& config, std::vector<std::string>& warnings) {
    for (const StaticAddress& given : config.addresses)
        for (const ConfiguredRange& range : config.ranges)
            if (range.range.contains(given.address.address()))
                warnings.push_back(fmt::format(
                    "{}: {} is not recorded in store \"whereabouts\", and range {} may give it to another pod: add it "
                    "to \"exclude\"",
                    ipam.at("addresses").path(), given.address.address(), range.range));
}

[[noreturn]] void refuse_slices(const std::string& where) {
    throw json::ValueError(where, "slices are not supported: remove the key, and all nodes use the whole range");
}

void require_no_slices(const json::Reader& ipam) {
    if (const auto slices = find_text(ipam, "node_slice_size")) refuse_slices(slices->path());
}

/// whereabouts takes the key from its file for every network that reads the file. With its pools and ranges, we would
/// give what it gives from slices. Networks that name another store share nothing with it.
void require_no_slices(const StoreKeys& keys, StoreKind kind) {
    if (keys.slices && (kind == StoreKind::whereabouts || kind == StoreKind::blocks)) refuse_slices(keys.slices->where);
}

/// An AddressRange records at most one part of its range that is not cut.
void require_one_requestable_each(const json::Reader& ipam, const Config& config) {
    for (const ConfiguredRange& range : config.ranges) {
        const base::IpPrefix* first = nullptr;
        for (const base::IpPrefix& prefix : config.store.requestable) {
            if (!range.range.subnet().contains(prefix.address())) continue;
            if (first != nullptr && *first != prefix)
                throw json::ValueError(
                    ipam.path(), fmt::format("\"requestable\" has two parts of range {}, {} and {}: keep one part "
                                             "of each range",
                                             range.range, *first, prefix));
            first = &prefix;
        }
    }
}

/// An address of `requestable` must be in a range, which must be small enough to be cut.
void require_blocks(const json::Reader& ipam, const Config& config) {
    const auto is_in_range = [&](const base::IpPrefix& prefix) {
        return std::any_of(config.ranges.begin(), config.ranges.end(), [&](const ConfiguredRange& range) {
            const base::IpPrefix& subnet = range.range.subnet();
            return subnet.contains(prefix.network()) && subnet.contains(prefix.last());
        });
    };
    if (const auto at = ipam.find("requestable"))
        for (const base::IpPrefix& prefix : config.store.requestable)
            if (!is_in_range(prefix)) throw at->unexpected("parts of the network's ranges");
    require_one_requestable_each(ipam, config);
    for (const ConfiguredRange& range : config.ranges) {
        const base::IpPrefix& subnet = range.range.subnet();
        if (base::address_bits(subnet.family()) - subnet.length() > kMostHostBits)
            throw json::ValueError(ipam.path(),
                                   fmt::format("range {} is too large to be cut into blocks: use /{} or longer",
                                               range.range, base::address_bits(subnet.family()) - kMostHostBits));
    }
}

/// In `kind`, one of the two stores in the Kubernetes API.
void require_fit(StoreKind kind, const json::Reader& ipam, const Config& config, std::vector<std::string>& warnings) {
    require_name_of_object(ipam, kind);
    if (kind == StoreKind::blocks) return require_blocks(ipam, config);
    warn_of_static_addresses(ipam, config, warnings);
    require_different_pools(ipam, config);
    warn_of_cooldown(ipam, config, warnings);
    warn_of_keys_of_blocks(ipam, kind, warnings);
}

/// What only one of the stores has no place for counts when it is known that the network uses that one.
void find_fits(const json::Reader& ipam, Config& config) {
    for (auto& [kind, fit] : config.store.open_to) {
        try {
            require_fit(kind, ipam, config, fit.warnings);
        } catch (const json::ValueError& error) {
            fit.fault = error;
        }
    }
    const bool fits_none = std::all_of(config.store.open_to.begin(), config.store.open_to.end(),
                                       [](const auto& open) { return open.second.fault.has_value(); });
    if (fits_none) throw json::ValueError(*config.store.open_to.at(config.store.kind).fault);
}

void set_limits(const StoreKeys::Limits& keys, StoreLimits& limits) {
    limits.connect = keys.connect.value_or(limits.connect);
    limits.request = keys.request.value_or(limits.request);
    limits.add = keys.add.value_or(limits.add);
}

} // namespace

std::string_view to_string(StoreKind kind) {
    switch (kind) {
    case StoreKind::node: break;
    case StoreKind::whereabouts: return "whereabouts";
    case StoreKind::blocks: return "blocks";
    }
    return "node";
}

void choose_store(const json::Reader& ipam, const std::string& root, Config& config) {
    require_no_slices(ipam);
    require_no_etcd(ipam);
    const StoreKeys keys = read_store_keys(ipam, root);
    config.store = choice_of(keys, ipam, config.ranges);
    require_no_slices(keys, config.store.kind);
    if (config.store.kind == StoreKind::node) {
        if (keys.kubeconfig) config.store.other_kubeconfig = keys.kubeconfig->text;
        if (keys.kubernetes && !keys.store && !keys.kubeconfig) require_kubeconfig(keys, config.store);
        if (!ipam.find("store")) warn_of_keys_of_blocks(ipam, StoreKind::node, config.warnings); // else they are idle
        return;
    }
    set_limits(keys.of_kubernetes, config.store.limits);
    require_kubeconfig(keys, config.store);
    warn_of_borrowed_kubeconfig(config);
    require_node_name(keys);
    if (keys.node_name) config.store.node_name = keys.node_name->text;
    config.store.block_size = keys.block_size;
    config.store.requestable = keys.requestable.value_or(std::vector<base::IpPrefix>{});
    if (!config.store.open_to.empty()) return find_fits(ipam, config);
    require_fit(config.store.kind, ipam, config, config.warnings);
}

Config settle_store(Config config, StoreKind kind, std::string why) {
    StoreFit fit = std::exchange(config.store.open_to, {}).at(kind);
    if (fit.fault) throw json::ValueError(*fit.fault);
    config.store.kind = kind;
    config.store.why = std::move(why);
    config.warnings = std::move(fit.warnings);
    return config;
}

} // namespace rdmanet::ipam
