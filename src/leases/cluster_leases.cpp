#include "cluster_leases.hpp"

#include "recorded.hpp"

#include <rdmanet/base/directory.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/kernel/address.hpp>
#include <rdmanet/kernel/device_search.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/live_namespaces.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/kernel/proc_view.hpp>
#include <rdmanet/leases/machine.hpp>

#include <algorithm>
#include <string>

namespace rdmanet::leases {
namespace {

/// IP addresses in all network namespaces of the node, for who cannot say any more whose they are.
struct NodeAddresses {
    std::vector<std::pair<base::IpAddress, std::string>> in_use; // each with a path of its network namespace
    std::string doubt;                                           // why there may be more; empty: these are all

    /// Who has one of `addresses`, but for those in `known`; empty: nobody as far as can be seen.
    [[nodiscard]] std::string find_user(const base::IpPrefix& addresses,
                                        const std::vector<base::IpAddress>& known) const;
};

/// A program that drives its device itself has its addresses where no kernel shows them.
bool may_have_devices_of_programs() try {
    const auto names = base::list_directory("/dev/vfio");
    // The others are there while a device has driver vfio-pci (vfio_create_group(), drivers/vfio/group.c).
    return std::ranges::any_of(names, [](const std::string& name) { return name != "vfio"; });
} catch (const base::SystemError&) {
    return true;
}

void add_addresses_in(const std::string& path, NodeAddresses& all, const base::Deadline& deadline) {
    const auto netns = kernel::find_netns(path);
    if (!netns) return; // its last process has ended
    kernel::Socket route = kernel::Socket::open_in(*netns, kernel::Protocol::route, deadline);
    for (const kernel::Link& link : kernel::list_links(route))
        for (const kernel::Address& address : kernel::list_addresses(route, link.ifindex))
            all.in_use.emplace_back(address.prefix.address(), path);
}

std::string NodeAddresses::find_user(const base::IpPrefix& addresses, const std::vector<base::IpAddress>& known) const {
    for (const auto& [address, path] : in_use)
        if (addresses.contains(address) && std::ranges::find(known, address) == known.end())
            return fmt::format("network namespace {} has {}", path, address);
    return {};
}

NodeAddresses list_node_addresses(const base::Deadline& deadline) {
    NodeAddresses all;
    if (!kernel::read_proc_view().sees_all()) {
        all.doubt = "this process is not in the node's PID namespace, and does not see all pods";
        return all;
    }
    if (may_have_devices_of_programs())
        all.doubt = "/dev/vfio has devices, or cannot be read, and the kernel does not show the addresses of programs "
                    "that drive them";
    const kernel::LiveNetns living = kernel::list_live_netns();
    if (!living.doubt.empty()) all.doubt = fmt::format("not all network namespaces can be seen: {}", living.doubt);
    std::vector<std::string> paths;
    for (const auto& [inode, path] : living.paths) paths.push_back(path);
    for (const kernel::HeldNetns& held : kernel::list_held_netns(living)) paths.push_back(held.path);
    for (const std::string& path : paths) {
        try {
            add_addresses_in(path, all, deadline);
        } catch (const base::Error& error) {
            all.doubt = fmt::format("network namespace {} cannot be examined: {}", path, error.what());
        }
    }
    return all;
}

constexpr std::chrono::seconds kSilentFor{60};
constexpr const char* kNameSpace = "kube-system"; // whereabouts' own, where the kubeconfig names none

std::optional<cluster::Place> place_of(const state::LeasePool& pool) {
    const auto subnet = base::IpPrefix::parse(pool.subnet);
    return subnet ? std::optional(cluster::Place{.space = pool.space, .subnet = *subnet}) : std::nullopt;
}

std::vector<cluster::Place> places_of(const state::LeaseStore& where) {
    std::vector<cluster::Place> places;
    for (const state::LeasePool& pool : where.pools)
        if (auto place = place_of(pool)) places.push_back(*std::move(place));
    return places;
}

std::vector<std::pair<std::string, base::IpAddress>> unsettled_of(const state::LeaseStore& where) {
    std::vector<std::pair<std::string, base::IpAddress>> unsettled;
    for (const state::ClaimedAddress& claimed : where.unsettled)
        if (const auto address = base::IpAddress::parse(claimed.address))
            unsettled.emplace_back(claimed.space, *address);
    return unsettled;
}

/// A release needs no name.
std::string node_name_or_none(const std::string& configured) try {
    return node_name_or_host(configured);
} catch (const ipam::StoreError&) {
    return {};
}

} // namespace

ClusterLeases::ClusterLeases(const state::LeaseStore& where, const Node& node, const state::AttachmentStore& records,
                             Adding adding)
    : where_(where), node_(node), records_(records) {
    if (where.kind == store_word(ipam::StoreKind::pools))
        open_pools(std::move(adding));
    else if (where.kind == store_word(ipam::StoreKind::blocks))
        open_blocks();
    else
        throw ipam::StoreError(ipam::StoreError::Kind::permanent,
                               fmt::format("lease store {}: this version does not know it", base::quoted(where.kind)));
}

kube::Api& ClusterLeases::api() {
    return node_.clusters->connect(where_.kubeconfig, limits_of(where_), node_.log);
}

void ClusterLeases::open_pools(Adding adding) {
    if (where_.name_space.empty()) where_.name_space = api().access().name_space;
    if (where_.name_space.empty()) where_.name_space = kNameSpace;
    is_adding_ = adding.before_claim != nullptr;
    auto store = std::make_unique<cluster::WhereaboutsStore>(
        api(), cluster::WhereaboutsStore::Options{
                   .name_space = where_.name_space,
                   .places = places_of(where_),
                   .also = unsettled_of(where_),
                   .has_open_claim = where_.has_open_claim,
                   .node = {.name = node_name_or_none(where_.node_name),
                            .machine_id = machine_id_or_none(),
                            .boot_id = node_.boot_id},
                   .before_claim = std::move(adding.before_claim),
                   .before_inheritance = std::move(adding.before_inheritance),
                   .known_owner = [this](const std::string& container_id,
                                         const std::string& ifname) { return known_owner(container_id, ifname); },
                   .warn = [this](const std::string& text) { node_.log.warn(text); },
                   .state_directory = node_.state_directory,
                   .cluster = where_.kubeconfig});
    pools_ = store.get();
    store_ = std::move(store);
}

void ClusterLeases::give_back_earlier_boot() try {
    constexpr std::chrono::seconds kTimeout{10};
    if (pools_ == nullptr) return;
    const std::string cluster = fmt::format("{}\n{}\n{}", where_.kubeconfig, where_.name_space, where_.node_name);
    const base::BootMemory memory(node_.state_directory, node_.boot_id, "cluster",
                                  cluster); // with the UID that it has for this node
    auto uid = memory.find();
    if (!uid) {
        base::make_directories(node_.state_directory);
        const base::Deadline deadline = node_.clusters->until(base::Deadline::in(kTimeout));
        const base::FileLock lock(fmt::format("{}/clusters.lock", node_.state_directory), base::hash64(cluster),
                                  "the addresses of before the reboot", deadline);
        uid = memory.find(); // perhaps another process has looked meanwhile
        if (!uid) {
            uid = ask([&](ipam::Store&) { return pools_->give_back_earlier_boot(deadline); });
            if (uid) memory.note(*uid);
        }
    }
    if (uid) pools_->set_node_uid(*uid);
} catch (const ipam::StoreError& error) {
    if (error.unreachable() || (!error.temporary() && is_adding_)) throw;
    node_.log.warn(
        fmt::format("addresses that this node had before its reboot are looked for later: {}", error.what()));
} catch (const base::Error& error) { // another process looks for long, or the directory takes no file
    node_.log.debug(error.what());
}

state::LeaseStore ClusterLeases::where() const {
    state::LeaseStore where = where_;
    if (pools_ == nullptr) return where;
    for (state::LeasePool& pool : where.pools)
        if (const auto place = place_of(pool))
            if (std::string uid = pools_->known_uid(*place); !uid.empty()) pool.uid = std::move(uid);
    return where;
}

bool ClusterLeases::is_of_record(const base::Deadline& deadline) {
    return pools_ != nullptr && ask([&](ipam::Store&) {
               return std::ranges::any_of(where_.pools, [&](const state::LeasePool& pool) {
                   const auto place = place_of(pool);
                   return place && !pool.uid.empty() && pools_->find_uid(*place, deadline) == pool.uid;
               });
           });
}

std::vector<ipam::Lease> ClusterLeases::unsettled() const {
    return pools_ == nullptr ? std::vector<ipam::Lease>() : pools_->unsettled();
}

/// Most calls need no API server, and so not even the kubeconfig.
void ClusterLeases::open_blocks() {
    const auto seen = std::make_shared<std::optional<NodeAddresses>>(); // for all blocks of one call
    const auto addresses = [seen]() -> const NodeAddresses& {
        constexpr std::chrono::seconds kTimeout{10};
        if (!*seen) *seen = list_node_addresses(base::Deadline::in(kTimeout));
        return **seen;
    };
    block_file_.reset(new ipam::BlockFile(open_block_file(node_, records_)));
    auto store = std::make_unique<cluster::BlocksStore>(
        block_file_, cluster::BlocksStore::Options{
                         .api = [this]() -> kube::Api& { return api(); },
                         .kubeconfig = where_.kubeconfig,
                         .node_name = node_name_or_host(where_.node_name),
                         .machine_id = machine_id_or_none(),
                         .boot_id = node_.boot_id,
                         .find_use =
                             [addresses](const base::IpPrefix& block, const std::vector<base::IpAddress>& known) {
                                 return addresses().find_user(block, known);
                             },
                         .find_doubt = [addresses] { return addresses().doubt; },
                         .recalled = node_.clusters->ranges(where_.kubeconfig),
                         .state_directory = node_.state_directory,
                         .warn = [this](const std::string& text) { node_.log.warn(text); },
                         .report = [this](const std::string& text) { node_.log.error(text); }});
    blocks_ = store.get();
    store_ = std::move(store);
}

std::vector<ipam::Regained> ClusterLeases::regain(const std::vector<ipam::Lease>& leases,
                                                  const base::Deadline& deadline) {
    const auto regain = [&] { return ask([&](ipam::Store& store) { return store.regain(leases, deadline); }); };
    return blocks_ == nullptr ? regain() : repairing(*block_file_, node_, deadline, regain);
}

void ClusterLeases::confirm_blocks(const base::Deadline& deadline) {
    ask([&](ipam::Store&) { blocks_->confirm(deadline); });
    silence().forget();
}

base::BootMemory ClusterLeases::silence() const {
    return {node_.state_directory, node_.boot_id, "cluster-silent", where_.kubeconfig};
}

void ClusterLeases::settle_unless_silent(const base::Deadline& deadline) {
    if (blocks_ == nullptr) return;
    const std::int64_t now = ipam::system_time().boot; // in seconds
    if (silence().was_noted_within(kSilentFor, now)) return;
    try {
        ask([&](ipam::Store&) { blocks_->settle(cluster::kIdleBlock, deadline); });
    } catch (const ipam::StoreError& error) {
        const std::int64_t end = ipam::system_time().boot;
        if (error.temporary() && end - now > 1) silence().note_time(end);
        throw;
    }
}

std::vector<ipam::Lease> ClusterLeases::release(const ipam::OwnerKey& key, const std::vector<ipam::Lease>& unused,
                                                const base::Deadline& deadline) {
    if (blocks_ != nullptr)
        return repairing(*block_file_, node_, deadline, [&] { return store_->withdraw(key, unused, deadline); });
    give_back_earlier_boot(); // runtimes begin a boot with DELs of what they had before
    return ask([&](ipam::Store& store) { return store.withdraw(key, unused, deadline); });
}

std::optional<ipam::Owner> ClusterLeases::known_owner(const std::string& container_id, const std::string& ifname) {
    if (!known_owners_) {
        known_owners_.emplace();
        for (const state::AttachmentRecord& record : records_.list().records)
            known_owners_->emplace(std::pair(record.key.container_id, record.key.ifname), owner_of(record));
    }
    const auto found = known_owners_->find({container_id, ifname});
    return found == known_owners_->end() ? std::nullopt : std::optional(found->second);
}

} // namespace rdmanet::leases
