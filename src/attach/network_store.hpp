// The store of a network that does not name one: the cluster says it, and this node remembers the answer.
#pragma once

#include "node_store.hpp"

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <cstdint>
#include <optional>

namespace rdmanet::attach {

enum class AskCluster : std::uint8_t {
    if_unknown,    // also remembers the answer
    if_unrecorded, // the same, and again before the node's own store gives what the cluster may have recorded by now
    anew,          // and nothing is written
};

/// `config` with the store that an AddressRange names for its ranges, else the one that fits their size. What a node
/// remembers may be outdated: the store itself obeys the AddressRange, and refuses. So a server that can't be asked is
/// no error here. Throws ipam::StoreError for ranges of different stores, and json::ValueError for what the network's
/// store has no place for.
///
/// Where the network names the node's own store, what its cluster has recorded counts, too, but for STATUS: throws
/// ipam::StoreError if that is another store, or if the cluster does not answer the first ADD of a boot.
///
/// Where neither the network nor the cluster says the store, and the node's own store has leases of a range, it is the
/// node's own, which the warnings say. Then a server that can't be asked is an error.
[[nodiscard]] ipam::Config settle_store(const ipam::Config& config, NodeStore& on_node, const Node& node,
                                        AskCluster ask, const base::Deadline& deadline);

/// The same for an attachment whose earlier ADD has leases in a store of the cluster.
[[nodiscard]] ipam::Config settle_store(const ipam::Config& config, const std::optional<state::LeaseStore>& earlier,
                                        NodeStore& on_node, const Node& node, const base::Deadline& deadline);

/// The same as far as this node remembers it, without a look into its own store. Asks nobody.
[[nodiscard]] ipam::Config remembered_store(const ipam::Config& config, const Node& node);

/// Asks the cluster next time.
void forget_store(const ipam::Config& config, const Node& node);

} // namespace rdmanet::attach
