#include <rdmanet/cluster/etcd_survey.hpp>

#include "keys.hpp"
#include "leases.hpp"
#include "session.hpp"
#include "values.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <utility>

namespace rdmanet::cluster {

class EtcdSurvey::Impl {
public:
    Impl(etcd::Client client, std::string its_prefix)
        : prefix(std::move(its_prefix)), session(std::move(client), prefix) {}

    std::string prefix;
    EtcdSession session;
    EtcdLeases leases{session};
};

EtcdSurvey::EtcdSurvey(etcd::Client client, const std::string& prefix)
    : impl_(std::make_unique<Impl>(std::move(client), prefix)) {}
EtcdSurvey::~EtcdSurvey() = default;

std::vector<SeenEtcdLease> EtcdSurvey::list(const base::Deadline& deadline) {
    std::vector<SeenEtcdLease> all;
    for (const std::string& space : impl_->leases.folders(impl_->prefix + '/', deadline))
        impl_->session.for_each_below(
            fmt::format("{}/{}/a/", impl_->prefix, space), deadline, [&](const etcd::KeyValue& entry) {
                SeenEtcdLease seen{.key = entry.key, .lease = std::nullopt, .revision = entry.revision};
                if (auto stored = parse_stored_lease(entry.value)) {
                    seen.lease = std::move(stored->lease);
                    seen.machine_id = std::move(stored->machine_id);
                    seen.node = std::move(stored->node_name);
                } else if (auto hold = parse_stored_hold(entry.value)) {
                    const auto address = EtcdKeys::address_in(entry.key);
                    auto space_in_it = EtcdKeys::text_of_part(space);
                    if (address && space_in_it)
                        seen.held = {
                            .space = *std::move(space_in_it), .address = *address, .holder = std::move(hold->holder)};
                }
                all.push_back(std::move(seen));
            });
    return all;
}

bool EtcdSurvey::remove(const SeenEtcdLease& seen, const base::Deadline& deadline) {
    etcd::Transaction transaction;
    transaction.if_unchanged(seen.key, seen.revision).remove(seen.key);
    if (seen.lease) {
        const EtcdKeys& keys = impl_->session.keys();
        transaction.remove(keys.owner(*seen.lease)).remove(keys.held(seen.machine_id, *seen.lease));
    }
    const EtcdSession::Change change = impl_->session.change(transaction, deadline);
    if (!change.succeeded && change.may_have_been_done)
        throw ipam::StoreError(ipam::StoreError::Kind::temporary,
                               "etcd: no answer says whether the lease was removed: look again");
    return change.succeeded;
}

} // namespace rdmanet::cluster
