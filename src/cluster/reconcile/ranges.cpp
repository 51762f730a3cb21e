#include "held.hpp"

#include "../range_records.hpp"

#include <rdmanet/base/format.hpp>

#include <utility>

namespace rdmanet::cluster {
namespace {

using ipam::StoreError;

constexpr const char* kRange = "AddressRange";

class MovedRanges {
public:
    MovedRanges(BlocksApi& api, ReconcileOptions::Act act, const base::Deadline& deadline)
        : ranges_(api), act_(act), deadline_(deadline) {}

    void look_at(const RangeObject& range, Reconciled& into) {
        if (!ranges_.sees_all(range) || !ranges_.reaches_store(range))
            return keep(range,
                        fmt::format("this command cannot look into all stores of \"{}\", so what they hold stays left "
                                    "out",
                                    range.store_text()),
                        into);
        try {
            const bool frees = act_ == ReconcileOptions::Act::frees;
            for (const ipam::Interval& gone :
                 frees ? ranges_.release_gone(range, deadline_) : ranges_.find_gone(range, deadline_))
                into.freed.push_back({.kind = kRange,
                                      .object = range.name(),
                                      .address = ipam::to_text(range.subnet.family(), gone),
                                      .rule = "old-store",
                                      .why = fmt::format("store \"{}\" has it no more", range.from_text())});
        } catch (const MissingRight&) {
            throw;
        } catch (const StoreError& error) {
            if (error.temporary()) throw;
            keep(range, error.what(), into);
        }
    }

private:
    static void keep(const RangeObject& range, std::string why, Reconciled& into) {
        into.kept.push_back(
            {.kind = kRange, .object = range.name(), .address = range.subnet.to_string(), .why = std::move(why)});
    }

    RangeRecords ranges_;
    ReconcileOptions::Act act_;
    const base::Deadline& deadline_;
};

} // namespace

void reconcile_ranges(kube::Api& api, ReconcileOptions::Act act, const base::Deadline& deadline, Reconciled& into) try {
    BlocksApi objects(api);
    MovedRanges ranges(objects, act, deadline);
    for (const RangeObject& range : objects.list_all_ranges(deadline))
        if (range.is_moving() && range.is_confirmed) ranges.look_at(range, into);
} catch (const MissingKind&) { // no range can have moved
}

} // namespace rdmanet::cluster
