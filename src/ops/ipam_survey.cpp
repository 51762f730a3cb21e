#include <rdmanet/ops/ipam_survey.hpp>

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/ipam/node_file.hpp>
#include <rdmanet/leases/machine.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <utility>

namespace rdmanet::ops {
namespace {

constexpr std::chrono::minutes kWholeCluster{5};
constexpr http::Limits kLongAnswers{
    .connect = std::chrono::seconds(2), .request = std::chrono::seconds(30), .most_bytes = http::kMostOfPage};

/// As stores name this node where the configuration does not. A host without a name is no node.
std::string own_name(const LeasePlaces& places) {
    if (!places.node_name.empty() || places.state_directory.empty()) return places.node_name;
    try {
        return leases::host_name();
    } catch (const ipam::StoreError&) {
        return {};
    }
}

class Surveyor {
public:
    Surveyor(const LeasePlaces& places, IpamClients& clients) : places_(places), clients_(clients) {}

    IpamSurvey run() && {
        survey_.node_name = own_name(places_);
        std::vector<std::string>& troubles = survey_.troubles;
        std::vector<std::string>& unknown = survey_.unknown;
        if (!places_.state_directory.empty()) attempt("the leases of this node", troubles, [&] { read_node(); });
        if (clients_.has_kube()) {
            attempt("pools", troubles, [&] { read_pools(); });
            attempt("blocks", troubles, [&] { read_blocks(); });
        }
        if (clients_.has_kube() && troubles.empty()) {
            attempt("which leases are stale", unknown, [&] { survey_.pods = survey().list_pods(deadline_); });
            attempt("which addresses pods have", unknown,
                    [&] { survey_.networks = survey().list_networks_with_pools(deadline_); });
            attempt("which blocks are stale", unknown, [&] { survey_.nodes = survey().list_nodes(deadline_); });
        }
        return std::move(survey_);
    }

private:
    static void attempt(const char* what, std::vector<std::string>& failed, const std::function<void()>& read) {
        try {
            read();
        } catch (const base::Error& error) {
            failed.push_back(fmt::format("{}: {}", what, error.what()));
        }
    }

    template <class Object>
    static std::vector<Object> taken(std::optional<std::vector<Object>> listed,
                                     std::optional<cluster::SeenKind>& seen) {
        seen = {.is_served = listed.has_value(), .count = listed ? listed->size() : 0};
        return listed ? *std::move(listed) : std::vector<Object>();
    }

    cluster::Survey survey() { return cluster::Survey(clients_.kube()); }

    void read_node() {
        const attach::Node node(places_.state_directory, base::Logger(base::LogLevel::warning));
        const state::AttachmentStore records = node.records(state::Access::look);
        survey_.node = leases::Leases(node, records).look(deadline_);
        survey_.holders = attach::view_lease_holders(node, records, deadline_);
        const auto is_left_out = [&](const ipam::Lease& lease) {
            return !places_.includes(lease.space, lease.address.address());
        };
        std::erase_if(survey_.node->own, is_left_out);
        std::erase_if(survey_.node->in_blocks, is_left_out);
        std::erase_if(survey_.node->blocks,
                      [&](const ipam::Block& block) { return !places_.includes(block.space, block.prefix); });
    }

    void read_pools() {
        survey_.seen.name_space = survey().name_space();
        survey_.pools = taken(survey().list_pools(deadline_), survey_.seen.pools);
        const auto others =
            std::stable_partition(survey_.pools.begin(), survey_.pools.end(), [&](const cluster::SeenPool& pool) {
                return !pool.subnet || places_.includes(pool.space, *pool.subnet);
            });
        survey_.other_pools.assign(std::make_move_iterator(others), std::make_move_iterator(survey_.pools.end()));
        survey_.pools.erase(others, survey_.pools.end());
        survey_.reservations = survey().list_reservations(deadline_).value_or(std::vector<cluster::SeenReservation>{});
        std::erase_if(survey_.reservations, [&](const auto& reservation) {
            return reservation.address && !places_.includes(reservation.space, *reservation.address);
        });
    }

    void read_blocks() {
        survey_.ranges = survey().list_ranges(deadline_);
        std::erase_if(survey_.ranges.declared,
                      [&](const auto& range) { return !places_.includes(range.space, range.subnet); });
        survey_.blocks = taken(survey().list_blocks(deadline_), survey_.seen.blocks);
        std::erase_if(survey_.blocks,
                      [&](const auto& block) { return block.block && !places_.includes(block.space, *block.block); });
    }

    const LeasePlaces& places_;
    IpamClients& clients_;
    base::Deadline deadline_ = survey_deadline();
    IpamSurvey survey_;
};

} // namespace

kube::Access find_access(const LeasePlaces& places) {
    std::string directory;
    if (places.network && !places.kubeconfig.empty() && places.kubeconfig == places.network->store.kubeconfig)
        directory =
            ipam::read_node_file().directory_of(places.kubeconfig); // the file with the network may be anybody's
    auto access = places.kubeconfig.empty()
                      ? kube::find_access_of_pod()
                      : std::optional(kube::read_kubeconfig(places.kubeconfig, {}, {}, directory));
    if (!access)
        throw base::Error(fmt::format("no API server is named, and this process is in no pod: give --kubeconfig, or "
                                      "name a kubeconfig in {}",
                                      ipam::kNodeFile));
    if (!places.name_space.empty()) access->name_space = places.name_space;
    return *std::move(access);
}

bool IpamClients::has_kube() const {
    return !places_.kubeconfig.empty() || kube::is_in_pod_with_account();
}

IpamClients::IpamClients(const LeasePlaces& places) : places_(places) {}
IpamClients::~IpamClients() = default;

kube::Api& IpamClients::kube() {
    if (kube_) return *kube_;
    kube::Access access = find_access(places_);
    const base::Logger log(base::LogLevel::warning);
    for (const std::string& warning : access.warnings) log.warn(warning);
    kube_ = std::make_unique<kube::Api>(std::move(access), kLongAnswers);
    return *kube_;
}

base::Deadline survey_deadline() {
    return base::Deadline::in(kWholeCluster);
}

IpamSurvey survey_ipam(const LeasePlaces& places, IpamClients& clients) {
    return Surveyor(places, clients).run();
}

} // namespace rdmanet::ops
