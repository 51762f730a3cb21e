#include "recorded.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/ipam/node_file.hpp>
#include <rdmanet/ipam/store/lease_file.hpp>

#include <algorithm>

namespace rdmanet::leases {
namespace {

std::optional<std::uint32_t> unless_default(std::chrono::milliseconds value, std::chrono::milliseconds usual) {
    if (value == usual) return std::nullopt;
    return static_cast<std::uint32_t>(value.count());
}

} // namespace

ipam::OwnerKey owner_key(const state::AttachmentKey& key) {
    return {.network = key.network, .container_id = key.container_id, .ifname = key.ifname};
}

ipam::Owner owner_of(const state::AttachmentRecord& record) {
    return {.key = owner_key(record.key),
            .pod_namespace = record.pod.pod_namespace,
            .pod_name = record.pod.name,
            .pod_uid = record.pod.uid,
            .netns_path = record.netns.path,
            .netns_cookie = record.netns.cookie,
            .netns_inode = record.netns.inode,
            .pid_view = record.pid_view,
            .boot_id = record.boot_id};
}

std::vector<state::RecordedLease> to_recorded(const std::vector<ipam::Lease>& leases) {
    std::vector<state::RecordedLease> recorded;
    recorded.reserve(leases.size());
    for (const ipam::Lease& lease : leases)
        recorded.push_back({.space = lease.space,
                            .slot = lease.slot,
                            .address = lease.address.to_string(),
                            .cooldown = static_cast<unsigned>(lease.cooldown.count())});
    return recorded;
}

std::vector<ipam::Lease> recorded_leases_of(const state::AttachmentRecord& record) {
    std::vector<ipam::Lease> leases;
    for (const state::RecordedLease& recorded : record.leases)
        if (const auto address = base::IpPrefix::parse(recorded.address))
            leases.push_back({.space = recorded.space,
                              .slot = recorded.slot,
                              .address = *address,
                              .owner = owner_of(record),
                              .since = record.created,
                              .cooldown = std::chrono::seconds(recorded.cooldown)});
    return leases;
}

bool has_leases_in_other_role(const state::AttachmentKey& key, const state::AttachmentStore& records) {
    try {
        const auto outcome = records.load(key.with_role(key.role.empty() ? state::kIpamRole : ""));
        const auto* beside = std::get_if<state::AttachmentRecord>(&outcome);
        return beside != nullptr && !beside->leases.empty();
    } catch (const base::SystemError&) {
        return false; // addresses are released whatever else fails
    }
}

std::string store_word(ipam::StoreKind kind) {
    if (kind == ipam::StoreKind::pools) return "whereabouts";
    return kind == ipam::StoreKind::blocks ? "blocks" : "";
}

std::optional<state::LeaseStore> place_of(const ipam::Config& config) {
    const ipam::StoreChoice& store = config.store;
    if (store.kind == ipam::StoreKind::node) return std::nullopt;
    state::LeaseStore where{
        .kind = store_word(store.kind), .kubeconfig = store.kubeconfig, .node_name = store.node_name};
    where.connect_timeout = unless_default(store.limits.connect, ipam::StoreLimits().connect);
    where.request_timeout = unless_default(store.limits.request, ipam::StoreLimits().request);
    for (const ipam::ConfiguredRange& range : config.ranges)
        where.pools.push_back({.space = range.space, .subnet = range.range.subnet().to_string()});
    if (is_in_pools(where)) return where;
    for (const ipam::StaticAddress& address : config.addresses)
        where.pools.push_back({.space = address.space, .subnet = address.address.to_string()});
    return where;
}

state::LeaseStore place_without_record(ipam::StoreKind kind, const std::string& kubeconfig,
                                       const std::string& node_name) {
    state::LeaseStore where{.kind = store_word(kind), .kubeconfig = kubeconfig, .node_name = node_name};
    const ipam::NodeFile file = ipam::read_node_file();
    where.connect_timeout = file.connect_timeout;
    where.request_timeout = file.request_timeout;
    return where;
}

http::Limits limits_of(const state::LeaseStore& store) {
    using std::chrono::milliseconds;
    constexpr ipam::StoreLimits kUsual;
    return {.connect = store.connect_timeout ? milliseconds(*store.connect_timeout) : kUsual.connect,
            .request = store.request_timeout ? milliseconds(*store.request_timeout) : kUsual.request};
}

http::Limits limits_of(const ipam::StoreLimits& limits) {
    return {.connect = limits.connect, .request = limits.request};
}

void require_same_store(const state::LeaseStore& earlier, const std::optional<state::LeaseStore>& now) {
    if (now && earlier.kind == now->kind && earlier.kubeconfig == now->kubeconfig) return;
    if (earlier.is_released)
        throw cni::CniError(
            cni::ErrorCode::try_again_later,
            fmt::format("lease store {} may still carry out a request of an earlier ADD, and the network "
                        "names another store by now: wait for a minute",
                        base::quoted(earlier.kind)));
    throw cni::CniError(
        cni::ErrorCode::state,
        fmt::format("an earlier ADD of this attachment has addresses in lease store {}, and the network "
                    "names another store by now: delete the pod, and its DEL gives them back",
                    base::quoted(earlier.kind)));
}

void add_pools(const state::LeaseStore& more, state::LeaseStore& into) {
    if (more.kind != into.kind || more.kubeconfig != into.kubeconfig) return;
    const auto is_of = [](const state::LeasePool& one) {
        return [&](const state::LeasePool& other) { return one.space == other.space && one.subnet == other.subnet; };
    };
    for (const state::LeasePool& pool : more.pools)
        if (std::ranges::none_of(into.pools, is_of(pool))) into.pools.push_back(pool);
}

void carry_over(const state::LeaseStore& earlier, state::LeaseStore& into) {
    for (const state::LeasePool& pool : earlier.pools)
        if (std::ranges::find(into.pools, pool) == into.pools.end()) into.pools.push_back(pool);
    if (!earlier.name_space.empty()) into.name_space = earlier.name_space;
    into.unsettled_until = earlier.unsettled_until;
    into.has_open_claim = earlier.has_open_claim;
    into.unsettled = earlier.unsettled;
}

bool is_in_pools(const state::LeaseStore& store) {
    return store.kind == store_word(ipam::StoreKind::pools);
}

void note_unsettled(const std::vector<ipam::Lease>& claims, state::LeaseStore& store) {
    if (claims.empty()) return;
    store.unsettled_until = ipam::system_time().boot + kLateAnswer.count();
    for (const ipam::Lease& lease : claims) note_inheritance(lease, store);
}

void note_inheritance(const ipam::Lease& lease, state::LeaseStore& store) {
    note_claimed({.space = lease.space, .address = lease.address.address().to_string()}, store);
}

void note_claimed(const state::ClaimedAddress& claimed, state::LeaseStore& store) {
    if (std::ranges::find(store.unsettled, claimed) == store.unsettled.end()) store.unsettled.push_back(claimed);
}

bool is_unsettled(const state::AttachmentRecord& record, const std::string& boot_id) {
    const auto& until = record.lease_store->unsettled_until; // by the clock of the record's boot
    return until && record.boot_id == boot_id && ipam::system_time().boot < *until;
}

std::vector<ipam::Lease> list_recorded_leases(const state::AttachmentStore& records, const std::string& boot_id,
                                              std::string_view store) {
    std::vector<state::AttachmentRecord> recorded_attachments = records.list().records;
    // If two records name one address, the younger one has it: the older attachment is dead and its lease was
    // reclaimed.
    sort_youngest_first(recorded_attachments, boot_id);
    std::vector<ipam::Lease> leases;
    for (const state::AttachmentRecord& record : recorded_attachments) {
        const auto where = record.lease_store;
        if ((where ? where->kind : "") != store) continue; // they are in another store
        for (ipam::Lease& lease : recorded_leases_of(record)) leases.push_back(std::move(lease));
    }
    return leases;
}

ipam::BlockFile open_block_file(const Node& node, const state::AttachmentStore& records) {
    return ipam::BlockFile(
        {.state_directory = node.state_directory, .boot_id = node.boot_id, .known_leases = [&node, &records] {
             return list_recorded_leases(records, node.boot_id, store_word(ipam::StoreKind::blocks));
         }});
}

bool has_block_file(const Node& node) {
    return ipam::BlockFile({.state_directory = node.state_directory}).is_there();
}

void log_repair(const Node& node, const ipam::DamagedStore& damage, const std::optional<std::string>& moved) {
    node.log.error(moved ? fmt::format("{}; it was rebuilt from the journal, and the damaged file is now {}",
                                       damage.what(), *moved)
                         : fmt::format("{}; it was rebuilt from the journal", damage.what()));
}

} // namespace rdmanet::leases
