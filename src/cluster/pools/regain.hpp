// `rdmanet ipam check --repair`: what living attachments lack in the objects of whereabouts.
#pragma once

#include "api.hpp"
#include "check.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/store.hpp>

#include <functional>
#include <optional>
#include <vector>

namespace rdmanet::cluster {

class WhereaboutsRegain {
public:
    /// Each must be called before what it says is sent.
    struct Notes {
        std::function<void(const ipam::Lease&)> before_claim;
        std::function<void(const ipam::Lease&)> unsettled; // no answer says what became of it
    };
    WhereaboutsRegain(WhereaboutsApi& api, PoolCheck& check, Notes notes)
        : api_(api), check_(check), notes_(std::move(notes)) {}

    /// The pool, its record, and the reservation. Throws ipam::StoreError.
    [[nodiscard]] ipam::Regained regain(const ipam::Lease& lease, const base::Deadline& deadline);

private:
    void regain_record(const Place& place, ipam::Regained& regained, const base::Deadline& deadline);
    /// False: it is to be read again, or the address can't be regained, which `regained` says.
    [[nodiscard]] bool may_use(const Place& place, const Pool& pool, ipam::Regained& regained,
                               const base::Deadline& deadline);
    void regain_reservation(const Place& place, bool is_fresh, ipam::Regained& regained,
                            const base::Deadline& deadline);
    void take_back(const Place& place, const ipam::Lease& lease, const base::Deadline& deadline);

    WhereaboutsApi& api_;
    PoolCheck& check_;
    Notes notes_;
};

} // namespace rdmanet::cluster
