#include "held.hpp"

#include <rdmanet/base/format.hpp>

#include <algorithm>

namespace rdmanet::cluster {
namespace {

constexpr const char* kChanged = "somebody else has changed it meanwhile";

[[noreturn]] void not_known(const Left& left) {
    throw ipam::StoreError(
        ipam::StoreError::Kind::temporary,
        fmt::format("no answer says whether {} {} was changed: run this again", left.kind, left.object));
}

/// Each write says what it expects to find.
class GiveBack {
public:
    GiveBack(kube::Api& api, const Left& left, const base::Deadline& deadline)
        : api_(api), left_(left), records_(api_, Survey(api_).name_space()), deadline_(deadline) {}

    /// The reservation goes first, as at DEL: what is left after a crash in between still is in the pool.
    std::string operator()(const HeldRecord& held) {
        if (held.reservation)
            if (std::string why = (*this)(*held.reservation); !why.empty()) return why;
        const Written written = records_.give_back(held.pool, held.record.key, held.record.text, deadline_);
        if (written == Written::no && held.reservation)
            if (std::string why = restore(held); !why.empty()) return why;
        return outcome_of(written);
    }

    std::string operator()(const SeenReservation& seen) {
        const Reservation reservation{.uid = seen.uid,
                                      .version = seen.version,
                                      .podref = seen.podref,
                                      .ifname = seen.ifname,
                                      .container_id = seen.container_id};
        return outcome_of(records_.unreserve(seen.name, reservation, deadline_));
    }

    /// As a node does it: what is released is no longer protected, and anybody may take or delete it.
    std::string operator()(BlockObject block) {
        using Done = WriteOutcome::Done;
        BlocksApi blocks(api_);
        block.is_released = true;
        const WriteOutcome released = blocks.write(block, block.version, BlocksApi::Finalizer::gone, deadline_);
        if (released.done == Done::unknown) not_known(left_);
        if (released.done == Done::no) return kChanged;
        if (released.is_going) return {}; // with its finalizer
        const WriteOutcome removed = blocks.remove(block, released.version, deadline_);
        if (removed.done == Done::unknown) not_known(left_);
        return {}; // or somebody has taken it already
    }

private:
    [[nodiscard]] std::string outcome_of(Written written) const {
        if (written == Written::unknown) not_known(left_);
        return written == Written::yes ? "" : kChanged;
    }

    /// A successor of the pod may have taken over the record meanwhile, and have seen the reservation, which names a
    /// pod of its name: whereabouts makes no other then. Without one, another range could give the address. Returns who
    /// has it if that has happened.
    std::string restore(const HeldRecord& held) {
        const auto pool = Survey(api_).find_pool(held.pool, deadline_);
        if (!pool) return {};
        const auto now = std::find_if(pool->records.begin(), pool->records.end(), [&](const SeenRecord& record) {
            return record.key == held.record.key && record.podref == held.record.podref;
        });
        if (now == pool->records.end()) return {};
        const Written written = records_.reserve(held.reservation->name, now->podref, now->ifname, deadline_);
        if (written == Written::unknown) not_known(left_);
        return written == Written::yes ? "" : describe_double(held.reservation->name, *now);
    }

    /// Empty if the reservation is the record's own.
    std::string describe_double(const std::string& reservation, const SeenRecord& record) {
        for (const SeenReservation& other :
             Survey(api_).list_reservations(deadline_).value_or(std::vector<SeenReservation>()))
            if (other.name == reservation && other.podref != record.podref)
                return fmt::format("whereabouts has given it to another container of pod {}, and pod {} has got the "
                                   "address by another range: delete the pod that was made later",
                                   record.podref, other.podref);
        return {};
    }

    kube::Api& api_;
    const Left& left_;
    WhereaboutsApi records_;
    const base::Deadline& deadline_;
};

} // namespace

std::string give_back(kube::Api& api, const Held& held, const base::Deadline& deadline) {
    return std::visit(GiveBack(api, held.left, deadline), held.what);
}

} // namespace rdmanet::cluster
