#include "regain_shared.hpp"

#include "shared_leases.hpp"

namespace rdmanet::attach {

std::vector<ipam::Regained> regain_shared(state::AttachmentRecord& record, const std::vector<ipam::Lease>& leases,
                                          const Node& node, const state::AttachmentStore& records,
                                          const base::Deadline& deadline) {
    const state::LeaseStore before = *record.lease_store;
    state::LeaseStore& now = *record.lease_store;
    const auto before_claim = [&](const ipam::Lease& lease) {
        if (!takes_late_claims(now)) return;
        const state::LeaseStore written = now;
        now.unsettled_until = ipam::system_time().boot + (kRegainTimeout + kLateAnswer).count();
        note_inheritance(lease, now);
        if (now != written) records.save(record);
    };
    SharedLeases shared(before, node, records, {.before_claim = before_claim});
    shared.give_back_earlier_boot();
    std::vector<ipam::Regained> regained = shared.regain(leases, deadline);
    const bool is_noted = now != before;
    now = shared.where();
    note_unsettled(shared.unsettled(), now);
    if (is_noted) records.save(record);
    return regained;
}

} // namespace rdmanet::attach
