#include <rdmanet/ops/node_move.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace rdmanet::ops {
namespace {

using attach::LeaseMove;
using ipam::StoreError;

/// What somebody else has of the survey's ranges, one sentence each.
std::vector<std::string> others_in(const IpamSurvey& survey) {
    std::vector<std::string> others;
    const auto is_here = [&](const std::string& container_id, const std::string& ifname) {
        return std::any_of(survey.holders.begin(), survey.holders.end(), [&](const attach::LeaseHolder& holder) {
            return holder.container_id == container_id && (ifname.empty() || holder.ifname == ifname);
        });
    };
    for (const cluster::SeenPool& pool : survey.pools)
        for (const cluster::SeenRecord& record : pool.records)
            if (!is_here(record.container_id, record.ifname))
                others.push_back(fmt::format("IPPool {} has {} for pod {}", pool.name,
                                             record.address ? record.address->to_string() : record.key,
                                             base::quoted(record.podref)));
    for (const cluster::SeenBlock& block : survey.blocks)
        if (!survey.node || block.lease_file != survey.node->block_file)
            others.push_back(fmt::format("AddressBlock {} belongs to node {}", block.name, base::quoted(block.node)));
    return others;
}

} // namespace

NodeMove::NodeMove(const LeasePlaces& places, IpamClients& clients, const cluster::MigrateOptions& options)
    : places_(places), clients_(clients), options_(options) {
    if (!places.state_directory.empty() && ::geteuid() == 0)
        node_.emplace(places.state_directory, base::Logger(base::LogLevel::warning));
}

bool NodeMove::is_target() const {
    return options_.to == name();
}

attach::DryRun NodeMove::dry_run() const {
    return options_.act == cluster::MigrateOptions::Act::moves ? attach::DryRun::no : attach::DryRun::yes;
}

void NodeMove::require_possible() {
    if (!is_target()) {
        if (node_) leaving_ = attach::network_to_move(*places_.network, options_.to, *node_);
        return;
    }
    if (!node_) throw base::Error("leases come into the store of a node on that node: run the command there, as root");
    require_no_others();
}

/// The node's own store would give their addresses again.
void NodeMove::require_no_others() {
    const IpamSurvey survey = survey_ipam(places_, clients_);
    if (!survey.troubles.empty())
        throw StoreError(StoreError::Kind::temporary,
                         fmt::format("it is unknown whether another node has addresses of the network's ranges: {}",
                                     survey.troubles.front()));
    const std::vector<std::string> others = others_in(survey);
    if (others.empty()) return;
    throw StoreError(
        StoreError::Kind::permanent,
        fmt::format("the store of this node would give again what others have of the network's ranges ({}{}): delete "
                    "those pods, and run `rdmanet gc` on their nodes; what is left of pods and nodes that are gone "
                    "goes with `rdmanet ipam reconcile`",
                    others.front(), others.size() == 1 ? "" : fmt::format(", and {} more", others.size() - 1)));
}

bool NodeMove::follow() {
    const bool is_dry = dry_run() == attach::DryRun::yes;
    if (leaving_) leases_ = attach::move_leases_to_cluster(*leaving_, *node_, dry_run());
    if (!is_target()) return false;
    if (!has_taken_over_) leases_ = attach::move_leases_to_node(*places_.network, *node_, dry_run());
    if (!is_dry) attach::give_back_blocks(*node_);
    return !is_dry;
}

bool NodeMove::is_done() const {
    return std::none_of(leases_.begin(), leases_.end(),
                        [](const LeaseMove& move) { return move.fate == LeaseMove::Fate::stays; });
}

bool NodeMove::has_range(const cluster::Place& /*place*/, const base::Deadline& /*deadline*/) {
    return false;
}

void NodeMove::require_range(const cluster::Place& /*place*/, const std::string& /*object*/,
                             const base::Deadline& /*deadline*/) {}

void NodeMove::expect(const cluster::Place& /*place*/, const std::string& /*from*/,
                      const base::Deadline& /*deadline*/) {}

std::vector<ipam::Interval> NodeMove::take(const cluster::Moving& /*moving*/, const base::Deadline& /*deadline*/) {
    return {};
}

void NodeMove::leave_out(const cluster::Moving& moving, const std::vector<ipam::Interval>& held,
                         const base::Deadline& /*deadline*/) {
    if (held.empty()) return;
    require_no_others();
    if (!moving.is_still_so())
        throw StoreError(StoreError::Kind::temporary,
                         fmt::format("others change AddressRange {}: run this command again", moving.object));
    std::vector<LeaseMove> moved = attach::move_leases_to_node(*places_.network, *node_, attach::DryRun::no);
    has_taken_over_ = true;
    for (LeaseMove& move : moved) leases_.push_back(std::move(move));
    for (const LeaseMove& move : leases_)
        if (move.fate == LeaseMove::Fate::stays)
            throw StoreError(StoreError::Kind::permanent, fmt::format("{}: {}", move.what, move.why));
}

std::vector<cluster::OutsideStore::Holder> NodeMove::describe(const cluster::Place& /*place*/,
                                                              const base::Deadline& /*deadline*/) {
    return {};
}

} // namespace rdmanet::ops
