#include "shared_leases.hpp"

#include "etcd_leases.hpp"
#include "leases.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/whereabouts_store.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <chrono>

namespace rdmanet::attach {
namespace {

constexpr http::Limits kLimits{.connect = std::chrono::seconds(2), .request = std::chrono::seconds(5)};
constexpr const char* kWhereabouts = "whereabouts";
constexpr const char* kEtcd = "etcd";
constexpr const char* kNameSpace = "kube-system"; // whereabouts' own, where the kubeconfig names none

kube::Access access_to(const state::LeaseStore& where) try {
    return kube::read_kubeconfig(where.kubeconfig);
} catch (const kube::KubeconfigError& error) {
    throw ipam::StoreError(ipam::StoreError::Kind::permanent, fmt::format("lease store: {}", error.what()));
}

std::unique_ptr<kube::Api> connect(kube::Access access, const std::string& kubeconfig) try {
    return std::make_unique<kube::Api>(std::move(access), kLimits);
} catch (const http::ConfigurationError& error) {
    throw ipam::StoreError(ipam::StoreError::Kind::permanent,
                           fmt::format("lease store: kubeconfig {}: {}", kubeconfig, error.what()));
}

std::vector<cluster::Place> places_of(const state::LeaseStore& where) {
    std::vector<cluster::Place> places;
    for (const state::LeasePool& pool : where.pools)
        if (const auto subnet = base::IpPrefix::parse(pool.subnet))
            places.push_back({.space = pool.space, .subnet = *subnet});
    return places;
}

} // namespace

std::string describe_store(const ipam::StoreChoice& store) {
    if (store.kind == ipam::StoreKind::etcd)
        return fmt::format("keep leases in store \"{}\" at {}, below {}, because {}", kEtcd,
                           base::join(store.etcd.endpoints), store.etcd.prefix, store.why);
    return fmt::format("keep leases in store \"{}\" with kubeconfig {}, because {}", kWhereabouts, store.kubeconfig,
                       store.why);
}

std::optional<state::LeaseStore> lease_store_of(const ipam::Config& config) {
    if (config.store.kind == ipam::StoreKind::node) return std::nullopt;
    const bool is_etcd = config.store.kind == ipam::StoreKind::etcd;
    state::LeaseStore where{.kind = is_etcd ? kEtcd : kWhereabouts,
                            .kubeconfig = config.store.kubeconfig,
                            .pools = {},
                            .etcd = is_etcd ? ipam::to_text(config.store.etcd) : "",
                            .node_name = config.store.node_name};
    for (const ipam::ConfiguredRange& range : config.ranges)
        where.pools.push_back({.space = range.space, .subnet = range.range.subnet().to_string()});
    for (const ipam::StaticAddress& address : config.addresses)
        where.pools.push_back({.space = address.space, .subnet = address.address.to_string()});
    return where;
}

std::optional<state::LeaseStore> lease_store_of(const cni::Request& request) try {
    std::vector<std::string> warnings;
    const config::IpamChoice ipam = config::parse_ipam(request.conf, warnings);
    const auto* own = std::get_if<ipam::Config>(&ipam);
    return own == nullptr ? std::nullopt : lease_store_of(*own);
} catch (const base::Error&) {
    return std::nullopt;
}

SharedLeases::SharedLeases(const state::LeaseStore& where, const Node& node, const state::AttachmentStore& records,
                           BeforeClaim before_claim)
    : records_(records) {
    if (where.kind == kWhereabouts)
        open_whereabouts(where, node, std::move(before_claim));
    else if (where.kind == kEtcd)
        store_ = open_etcd(where, node, std::move(before_claim));
    else
        throw ipam::StoreError(ipam::StoreError::Kind::permanent,
                               fmt::format("lease store {}: this version does not know it", base::quoted(where.kind)));
}

void SharedLeases::open_whereabouts(const state::LeaseStore& where, const Node& node, BeforeClaim before_claim) {
    kube::Access access = access_to(where);
    for (const std::string& warning : access.warnings) node.log.warn(warning);
    const std::string name_space = access.name_space.empty() ? kNameSpace : access.name_space;
    api_ = connect(std::move(access), where.kubeconfig);
    store_ = std::make_unique<cluster::WhereaboutsStore>(
        *api_, cluster::WhereaboutsStore::Options{
                   .name_space = name_space,
                   .places = places_of(where),
                   .before_claim = std::move(before_claim),
                   .known_owner = [this](const std::string& container_id,
                                         const std::string& ifname) { return known_owner(container_id, ifname); },
                   .warn = [&node](const std::string& text) { node.log.warn(text); }});
}

std::optional<ipam::Owner> SharedLeases::known_owner(const std::string& container_id, const std::string& ifname) {
    if (!known_owners_) {
        known_owners_.emplace();
        for (const state::AttachmentRecord& record : records_.list().records)
            known_owners_->emplace(std::pair(record.key.container_id, record.key.ifname), owner_of(record));
    }
    const auto found = known_owners_->find({container_id, ifname});
    return found == known_owners_->end() ? std::nullopt : std::optional(found->second);
}

} // namespace rdmanet::attach
