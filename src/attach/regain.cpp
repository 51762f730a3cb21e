#include <rdmanet/attach/regain.hpp>

#include "lookup/call.hpp"
#include "owners/liveness.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <variant>

namespace rdmanet::attach {
namespace {

using state::AttachmentRecord;

class Regaining {
public:
    Regaining(const Node& node, const std::function<bool(const ipam::Lease&)>& is_meant)
        : call_(node, base::Deadline::in(leases::Leases::kRegainTimeout)), is_meant_(is_meant), pods_(node) {}

    std::vector<RegainedLease> run() && {
        std::vector<AttachmentRecord> records = call_.records.list().records;
        sort_youngest_first(records, call_.node.boot_id); // of two that name one address, the younger one has it
        for (const AttachmentRecord& record : records) {
            try {
                regain(record.key);
            } catch (const base::Error& error) {
                refuse(record, error.what());
            }
        }
        return std::move(all_);
    }

private:
    void refuse(const AttachmentRecord& record, std::string why) {
        all_.push_back({.what = state::describe(record), .made = {}, .refused = std::move(why)});
    }

    void regain(const state::AttachmentKey& key) {
        const auto deadline = base::Deadline::in(leases::Leases::kRegainTimeout);
        const auto lock = call_.records.lock(key, base::Deadline::in(std::chrono::milliseconds(0)));
        const auto outcome = call_.records.load(key);
        const auto* seen = std::get_if<AttachmentRecord>(&outcome);
        if (seen == nullptr || seen->phase != state::Phase::attached || seen->removal_unfinished) return;
        AttachmentRecord record = *seen;
        std::vector<ipam::Lease> leases = leases::recorded_leases_of(record);
        std::erase_if(leases, [&](const ipam::Lease& lease) { return !is_meant_(lease); });
        if (leases.empty()) return;
        const ipam::Verdict pod = pods_.probe(pod_of(record));
        if (pod == ipam::Liveness::dead) return;
        if (pod != ipam::Liveness::alive) return refuse_unknown(record, pod, deadline);
        for (ipam::Regained& each : call_.leases.regain(record, leases, deadline)) {
            if (each.made.empty() && each.refused.empty()) continue;
            all_.push_back({.what = fmt::format("{} of {}", each.lease.address, state::describe(record)),
                            .made = std::move(each.made),
                            .refused = std::move(each.refused)});
        }
    }

    /// Who may be dead gets nothing, and a lease that is there needs no word.
    void refuse_unknown(const AttachmentRecord& record, const ipam::Verdict& pod, const base::Deadline& deadline) {
        const std::vector<ipam::Lease> present = call_.leases.find(record.key, record.lease_store, deadline);
        for (const ipam::Lease& lease : leases::recorded_leases_of(record))
            if (std::none_of(present.begin(), present.end(),
                             [&](const ipam::Lease& one) { return one.address == lease.address; }))
                return refuse(record, fmt::format("it is unknown whether its pod lives: {}", pod.reason));
    }

    const Call call_;
    const std::function<bool(const ipam::Lease&)>& is_meant_;
    PodProbe pods_;
    std::vector<RegainedLease> all_;
};

} // namespace

std::vector<RegainedLease> regain_leases(const Node& node, const std::function<bool(const ipam::Lease&)>& is_meant) {
    return Regaining(node, is_meant).run();
}

} // namespace rdmanet::attach
