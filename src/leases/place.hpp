// Where the addresses of a network are kept: on the node, or in the pools or blocks of a cluster. A network has all of
// its ranges in one place.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/ipam/liveness.hpp>
#include <rdmanet/ipam/store/lease_file.hpp>
#include <rdmanet/leases/node.hpp>
#include <rdmanet/state/attachment_record.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <optional>

namespace rdmanet::leases {

class PlaceFinder {
public:
    /// `file` has the node's own leases.
    PlaceFinder(const Node& node, const state::AttachmentStore& records, ipam::LeaseFile& file,
                ipam::LivenessProbe& pods)
        : node_(node), records_(records), file_(file), pods_(pods) {}

    /// The configuration with its place: that of an `earlier` ADD of the attachment, if it has, or may get, leases there.
    /// Asks the cluster what this node does not know: which AddressRanges there are, and, for a network that reaches it
    /// otherwise than its node, which cluster it is. Throws ipam::StoreError for ranges of several places, for a range
    /// that another place has or would give as well, for a network of another cluster than the node's, and if the server
    /// does not answer; json::ValueError for what the place has no room for.
    [[nodiscard]] ipam::Config settle(const ipam::Config& config, const std::optional<state::LeaseStore>& earlier,
                                      const base::Deadline& deadline);

    /// Throws what can be said of a network with a cluster without a request.
    void require_possible(const ipam::Config& config, const base::Deadline& deadline);

private:
    const Node& node_;
    const state::AttachmentStore& records_;
    ipam::LeaseFile& file_;
    ipam::LivenessProbe& pods_;
};

/// As far as this node knows it without asking: pools, if nothing says that the ranges are in blocks.
[[nodiscard]] ipam::Config remembered(const ipam::Config& config, const Node& node,
                                      const state::AttachmentStore& records);

/// An ADD has addresses of it.
void note_cluster(const ipam::StoreChoice& store, const Node& node);

} // namespace rdmanet::leases
