// `rdmanet ipam migrate` on a node: the leases of a network's ranges go from the node's own store into a store of the
// cluster, or back. Nobody but the node sees its own store, so here each lease really moves, and its pod keeps the
// address.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/attach/operations.hpp>
#include <rdmanet/ipam/config.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::attach {

/// What became of an attachment's leases, or of leases without an attachment.
struct LeaseMove {
    std::string what; // with the addresses and the pod
    std::vector<std::string> addresses;
    std::string from; // the store
    enum class Fate : std::uint8_t { moved, released, stays };
    Fate fate = Fate::stays;
    std::string why{}; // it stays
};
[[nodiscard]] std::string_view to_string(LeaseMove::Fate fate);

/// The network as it uses `to`, a store of the cluster. nullopt: the node's own store has no lease of its ranges, so
/// nothing has to move. Throws base::Error if the network does not use that store: its ADDs would be refused.
[[nodiscard]] std::optional<ipam::Config> network_to_move(const ipam::Config& network, std::string_view to,
                                                          const Node& node);

/// Moves the leases of living attachments into the store of the cluster that `network` uses, and releases those of dead
/// ones. Each attachment is done under its lock, and its record says first where its leases may be. So a kill at any
/// moment leaves what DEL, GC or the next call goes on with. What somebody else has by now stays, and so does what
/// can't be judged. Until nothing stays, ADDs from these ranges are refused. A dry run asks no cluster.
[[nodiscard]] std::vector<LeaseMove> move_leases_to_cluster(const ipam::Config& network, const Node& node,
                                                            DryRun dry_run);

/// The other way: from the stores that the journal's records name into the node's own. The caller has made sure that
/// these stores give no more addresses of the ranges, and that other nodes have none.
[[nodiscard]] std::vector<LeaseMove> move_leases_to_node(const ipam::Config& network, const Node& node, DryRun dry_run);

/// Blocks of ranges that have gone to another store, as far as this node needs them no more. What fails is logged: the
/// next `rdmanet gc` goes on.
void give_back_blocks(const Node& node);

} // namespace rdmanet::attach
