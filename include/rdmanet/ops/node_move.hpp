// This node's own store in `rdmanet ipam migrate`. Nobody else sees it, so its leases really move: see
// rdmanet/attach/move_leases.hpp.
#pragma once

#include <rdmanet/attach/move_leases.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cluster/migrate.hpp>
#include <rdmanet/ops/ipam_survey.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::ops {

class NodeMove final : public cluster::OutsideStore {
public:
    /// All must outlive it. The places have a network.
    NodeMove(const LeasePlaces& places, IpamClients& clients, const cluster::MigrateOptions& options);

    /// False where the command does not run on a node, as root.
    [[nodiscard]] bool is_present() const { return node_.has_value(); }
    /// Before anything is changed: throws base::Error if this node's leases could not follow the ranges.
    void require_possible();
    /// After the cluster's part. True if the cluster has to be looked at again.
    [[nodiscard]] bool follow();

    [[nodiscard]] const std::vector<attach::LeaseMove>& leases() const { return leases_; }
    /// Whether none of this node's leases is left in the store from which they go.
    [[nodiscard]] bool is_done() const;

    [[nodiscard]] std::string name() const override { return "node"; }
    /// The cluster knows nothing of a range that only nodes have used.
    [[nodiscard]] bool has_range(const cluster::Place& place, const base::Deadline& deadline) override;
    void require_range(const cluster::Place& place, const std::string& object, const base::Deadline& deadline) override;
    void expect(const cluster::Place& place, const std::string& from, const base::Deadline& deadline) override;
    /// Nothing: what this node has moves right after.
    [[nodiscard]] std::vector<ipam::Interval> take(const cluster::Moving& moving,
                                                   const base::Deadline& deadline) override;
    /// Takes over what is held, of all ranges of the network. No other store gives addresses of them now. Throws
    /// ipam::StoreError if another node has some.
    void leave_out(const cluster::Moving& moving, const std::vector<ipam::Interval>& held,
                   const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<Holder> describe(const cluster::Place& place, const base::Deadline& deadline) override;

private:
    [[nodiscard]] bool is_target() const;
    [[nodiscard]] attach::DryRun dry_run() const;
    void require_no_others();

    const LeasePlaces& places_;
    IpamClients& clients_;
    const cluster::MigrateOptions& options_;
    std::optional<attach::Node> node_;
    std::optional<ipam::Config> leaving_; // the network as it uses the store to which this node's leases go
    std::vector<attach::LeaseMove> leases_;
    bool has_taken_over_ = false;
};

} // namespace rdmanet::ops
