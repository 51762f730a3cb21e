#include "store_choice.hpp"

#include "address_text.hpp"
#include "store_keys.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace rdmanet::ipam {
namespace {

/// Earlier versions had several stores to choose from. Without the key, the network's leases are in another place from
/// now on, so no pod gets an address unasked.
json::ValueError other_store(const StoreKeys::Value& store) {
    return json::ValueError(
        store.where, fmt::format("expected \"node\" or no such key, found {}: remove it; the AddressRanges of the "
                                 "cluster say where the addresses of a range are kept",
                                 base::quoted(store.text)));
}

json::ValueError no_etcd(const std::string& where) {
    return json::ValueError(where, "this version keeps no leases in etcd: remove the key; the AddressRanges of the "
                                   "cluster say where the addresses of a range are kept");
}

/// An error for which no pod may get an address, and existing ones go on.
void require_known_store(const json::Reader& ipam, const StoreKeys& keys, Config& config) {
    if (config.fault) return;
    if (keys.store && keys.store->text != "node") config.fault = other_store(*keys.store);
    if (const auto etcd = ipam.find("etcd")) config.fault = no_etcd(etcd->path());
    if (keys.etcd) config.fault = no_etcd(keys.etcd->where);
}

void require_kubeconfig(const StoreKeys& keys) {
    if (keys.kubeconfig || !keys.kubernetes) return;
    throw json::ValueError(
        keys.kubernetes->where,
        fmt::format("\"kubeconfig\" is missing: set it, here or in {}, or remove the key", kNodeFile));
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
            throw json::ValueError(
                ipam.path(),
                fmt::format("two ranges are in subnet {}, for which whereabouts has one pool: use different subnets",
                            subnet));
    }
}

void require_name_of_object(const json::Reader& ipam) {
    const auto name = find_text(ipam, "network_name");
    if (name && !base::is_name_of_object(name->string()))
        throw name->unexpected("lower-case letters, digits, '-' and '.', because the cluster has objects of that name");
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
    warnings.push_back(fmt::format("{}: only the node that released an address waits for it, because whereabouts' "
                                   "pools have no place for the time: remove the key, unless that is enough",
                                   cooldown->path()));
}

/// Nothing records them there, so a range gives them as well.
void warn_of_static_addresses(const json::Reader& ipam, const Config& config, std::vector<std::string>& warnings) {
    for (const StaticAddress& given : config.addresses)
        for (const ConfiguredRange& range : config.ranges)
            if (range.range.contains(given.address.address()))
                warnings.push_back(fmt::format(
                    "{}: {} is not recorded in whereabouts' pools, and range {} may give it to another pod: add it "
                    "to \"exclude\"",
                    ipam.at("addresses").path(), given.address.address(), range.range));
}

[[noreturn]] void refuse_slices(const std::string& where) {
    throw json::ValueError(where, "slices are not supported: remove the key, and all nodes use the whole range");
}

/// whereabouts takes the key from its file for every network that reads the file. With its pools and ranges, we would
/// give what it gives from slices.
void require_no_slices(const json::Reader& ipam, const StoreKeys& keys, StoreKind kind) {
    if (const auto slices = find_text(ipam, "node_slice_size")) refuse_slices(slices->path());
    if (keys.slices && kind == StoreKind::cluster) refuse_slices(keys.slices->where);
}

PoolsFit fit_in_pools(const json::Reader& ipam, const Config& config) {
    PoolsFit fit;
    try {
        require_different_pools(ipam, config);
        warn_of_static_addresses(ipam, config, fit.warnings);
        warn_of_cooldown(ipam, config, fit.warnings);
    } catch (const json::ValueError& error) {
        fit.fault = error;
    }
    return fit;
}

void set_limits(const StoreKeys::Limits& keys, StoreLimits& limits) {
    limits.connect = keys.connect.value_or(limits.connect);
    limits.request = keys.request.value_or(limits.request);
    limits.add = keys.add.value_or(limits.add);
}

} // namespace

void choose_store(const json::Reader& ipam, const std::string& root, Config& config) {
    const StoreKeys keys = read_store_keys(ipam, root);
    require_known_store(ipam, keys, config);
    const bool is_on_node = (keys.store && keys.store->text == "node") || !keys.kubernetes || config.ranges.empty();
    config.store.kind = is_on_node ? StoreKind::node : StoreKind::cluster;
    require_no_slices(ipam, keys, config.store.kind);
    set_limits(keys.of_kubernetes, config.store.limits);
    require_kubeconfig(keys);
    require_node_name(keys);
    if (keys.kubeconfig) config.store.kubeconfig = keys.kubeconfig->text;
    if (keys.node_name) config.store.node_name = keys.node_name->text;
    config.store.kubeconfig_of_node = keys.kubeconfig_of_node;
    if (is_on_node) return;
    warn_of_borrowed_kubeconfig(config);
    require_name_of_object(ipam);
    config.store.in_pools = fit_in_pools(ipam, config);
}

Config settle_store(Config config, StoreKind kind) {
    const PoolsFit fit = std::exchange(config.store.in_pools, {});
    config.store.kind = kind;
    if (kind != StoreKind::pools) {
        // In blocks an address is given once in all ranges of a network name.
        for (ConfiguredRange& range : config.ranges) range.space = range.space.substr(0, range.space.find('@'));
        for (StaticAddress& given : config.addresses) given.space = given.space.substr(0, given.space.find('@'));
        return config;
    }
    if (fit.fault) throw json::ValueError(*fit.fault);
    config.warnings.insert(config.warnings.end(), fit.warnings.begin(), fit.warnings.end());
    return config;
}

} // namespace rdmanet::ipam
