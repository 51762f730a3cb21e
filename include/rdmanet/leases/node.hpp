// What the leases need of their node, and how its records say the same as the stores in different words.
#pragma once

#include <rdmanet/base/logger.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::leases {

class Clusters;

struct Node {
    Node(std::string directory, std::string boot, base::Logger logger);

    std::string state_directory;
    std::string boot_id;
    base::Logger log;
    std::shared_ptr<Clusters> clusters; // whom this process asks
};

[[nodiscard]] ipam::OwnerKey owner_key(const state::AttachmentKey& key);
[[nodiscard]] ipam::Owner owner_of(const state::AttachmentRecord& record);
/// What the record says that the attachment has, wherever it is.
[[nodiscard]] std::vector<ipam::Lease> recorded_leases_of(const state::AttachmentRecord& record);
/// Whether the attachment's record in another role has its leases. They are released with that record.
[[nodiscard]] bool has_leases_in_other_role(const state::AttachmentKey& key, const state::AttachmentStore& records);
/// For the record of an attachment of this network, whose place is settled. nullopt: its leases are in the node's file.
[[nodiscard]] std::optional<state::LeaseStore> place_of(const ipam::Config& settled);
/// For people: "keep leases in blocks, ...".
[[nodiscard]] std::string describe_place(const ipam::StoreChoice& store);
/// `into` also looks in those pools of `more` that it does not have, if both are the same store.
void add_pools(const state::LeaseStore& more, state::LeaseStore& into);
/// In pools, static addresses have no leases, and the server may carry out a claim after its sender has looked what
/// became of it. Leases in blocks are claimed on this node alone.
[[nodiscard]] bool is_in_pools(const state::LeaseStore& store);
/// Whether the server may still carry out a request of the attachment that is not known to be done.
[[nodiscard]] bool is_unsettled(const state::AttachmentRecord& record, const std::string& boot_id);

} // namespace rdmanet::leases
