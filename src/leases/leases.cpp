#include <rdmanet/leases/leases.hpp>

#include "cluster_leases.hpp"
#include "clusters.hpp"
#include "place.hpp"
#include "recorded.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/cluster/ranges.hpp>

#include <utility>

namespace rdmanet::leases {

Node::Node(std::string directory, std::string boot, base::Logger logger)
    : state_directory(std::move(directory)), boot_id(std::move(boot)), log(std::move(logger)),
      clusters(std::make_shared<Clusters>()) {}

std::vector<ipam::Lease> NodeLeases::all() const {
    std::vector<ipam::Lease> all = own;
    all.insert(all.end(), in_blocks.begin(), in_blocks.end());
    return all;
}

Leases::Leases(const Node& node, const state::AttachmentStore& records)
    : node_(node), records_(records),
      file_({.state_directory = node.state_directory,
             .known_leases = [&node, &records] { return list_recorded_leases(records, node.boot_id); }}) {}

void Leases::allow(std::chrono::milliseconds time) {
    node_.clusters->allow(time);
}

base::Deadline Leases::until(const base::Deadline& deadline) const {
    return node_.clusters->until(deadline);
}

void Leases::also_use(const std::string& kubeconfig) {
    node_.clusters->also_use(kubeconfig);
}

ipam::Config Leases::settle(const ipam::Config& config, ipam::LivenessProbe& pods, const base::Deadline& deadline) {
    return PlaceFinder(node_, records_, file_, pods).settle(config, {}, deadline);
}

std::vector<std::string> Leases::find_ignored_ranges(const ipam::StoreChoice& store, const base::Deadline& deadline) {
    std::vector<std::string> ignored;
    if (store.kind != ipam::StoreKind::pools) return ignored;
    kube::Api& api = node_.clusters->connect(store.kubeconfig, limits_of(store.limits), node_.log);
    for (const cluster::IgnoredRange& range : cluster::recall_ranges(api, deadline).ignored)
        ignored.push_back(fmt::format("AddressRange {} is ignored: {}", range.name, range.why));
    return ignored;
}

std::optional<state::LeaseStore> Leases::remembered_place_of(const ipam::Config& config) {
    return place_of(remembered(config, node_, records_));
}

void Leases::with_store(const std::optional<state::LeaseStore>& where, const std::function<void(ipam::Store&)>& use) {
    if (!where) return use(file_);
    ClusterLeases(*where, node_, records_).ask(use);
}

std::vector<ipam::Lease> Leases::find(const state::AttachmentKey& key, const std::optional<state::LeaseStore>& where,
                                      const base::Deadline& deadline) {
    if (where)
        return ClusterLeases(*where, node_, records_).ask([&](ipam::Store& store) {
            return store.find(owner_key(key), deadline);
        });
    return repairing(file_, node_, deadline, [&] { return file_.find(owner_key(key), deadline); });
}

std::string Leases::find_obstacle(const state::LeaseStore& where) {
    if (where.kubeconfig.empty()) return {};
    try {
        (void)node_.clusters->connect(where.kubeconfig, limits_of(where), node_.log);
        return {};
    } catch (const base::Error& error) {
        return error.what();
    }
}

std::vector<ipam::Regained> Leases::regain(state::AttachmentRecord& record, const std::vector<ipam::Lease>& leases,
                                           const base::Deadline& deadline) {
    if (!record.lease_store) return repairing(file_, node_, deadline, [&] { return file_.regain(leases, deadline); });
    const state::LeaseStore before = *record.lease_store;
    state::LeaseStore& now = *record.lease_store;
    const auto before_claim = [&](const ipam::Lease& lease) {
        if (!is_in_pools(now)) return;
        const state::LeaseStore written = now;
        now.unsettled_until = ipam::system_time().boot + (kRegainTimeout + kLateAnswer).count();
        note_inheritance(lease, now);
        if (now != written) records_.save(record);
    };
    ClusterLeases shared(before, node_, records_, {.before_claim = before_claim});
    shared.give_back_earlier_boot();
    std::vector<ipam::Regained> regained = shared.regain(leases, deadline);
    const bool is_noted = now != before;
    now = shared.where();
    note_unsettled(shared.unsettled(), now);
    if (is_noted) records_.save(record);
    return regained;
}

void Leases::release_on_node(const state::AttachmentKey& key, const base::Deadline& deadline) {
    repairing(file_, node_, deadline, [&] { return file_.release(owner_key(key), deadline); });
    ipam::BlockFile file = open_block_file(node_, records_);
    file.tidy(deadline);
    if (file.is_there())
        (void)repairing(file, node_, deadline, [&] { return file.withdraw(owner_key(key), {}, deadline); });
}

void Leases::withdraw_on_node(const state::AttachmentKey& key, const std::vector<ipam::Lease>& fresh,
                              const base::Deadline& deadline) {
    repairing(file_, node_, deadline, [&] { return file_.withdraw(owner_key(key), fresh, deadline); });
}

bool Leases::reclaim(const ipam::Lease& lease, const base::Deadline& deadline) {
    if (!file_.reclaim({lease}, deadline).empty()) return true;
    return has_block_file(node_) && !open_block_file(node_, records_).reclaim({lease}, deadline).empty();
}

std::vector<ipam::Lease> Leases::list(const base::Deadline& deadline) {
    ipam::BlockFile file = open_block_file(node_, records_);
    NodeLeases leases{.own = repairing(file_, node_, deadline, [&] { return file_.list_all(deadline); })};
    if (file.is_there()) leases.in_blocks = repairing(file, node_, deadline, [&] { return file.list_all(); });
    file_.tidy(deadline);
    file.tidy(deadline);
    return leases.all();
}

NodeLeases Leases::look(const base::Deadline& deadline) {
    NodeLeases leases{.own = file_.list_all(deadline)};
    if (!has_block_file(node_)) return leases;
    ipam::BlockFile file = open_block_file(node_, records_);
    leases.in_blocks = file.list_all();
    leases.blocks = file.blocks();
    return leases;
}

void Leases::give_back_earlier_pools(const state::LeaseStore& where) {
    ClusterLeases(where, node_, records_).give_back_earlier_boot();
}

void Leases::give_back_earlier_pools(const std::string& kubeconfig, const std::string& node_name) {
    give_back_earlier_pools(place_without_record(ipam::StoreKind::pools, kubeconfig, node_name));
}

} // namespace rdmanet::leases
