#include "held.hpp"

#include "../etcd/leases.hpp"

#include <rdmanet/base/format.hpp>

#include <algorithm>

namespace rdmanet::cluster {
namespace {

[[noreturn]] void not_known(const Left& left) {
    throw ipam::StoreError(
        ipam::StoreError::Kind::temporary,
        fmt::format("no answer says whether {} {} was changed: run this again", left.kind, left.object));
}

/// Each write says what it expects to find.
class GiveBack {
public:
    GiveBack(const Servers& servers, const Left& left, const base::Deadline& deadline)
        : api_(servers.api), etcd_(servers.etcd), left_(left), records_(api_, Survey(api_).name_space()),
          deadline_(deadline) {}

    /// The reservation goes first, as at DEL: what is left after a crash in between still is in the pool.
    GivenBack operator()(const HeldRecord& held) {
        if (held.reservation && (*this)(*held.reservation) == GivenBack::changed) return GivenBack::changed;
        const Written written = records_.give_back(held.pool, held.record.key, held.record.text, deadline_);
        if (written == Written::no && held.reservation) restore(held);
        return outcome_of(written);
    }

    GivenBack operator()(const SeenReservation& seen) {
        const Reservation reservation{.uid = seen.uid,
                                      .version = seen.version,
                                      .podref = seen.podref,
                                      .ifname = seen.ifname,
                                      .container_id = seen.container_id};
        return outcome_of(records_.unreserve(seen.name, reservation, deadline_));
    }

    /// As a node does it: what is released is no longer protected, and anybody may take or delete it.
    GivenBack operator()(BlockObject block) {
        using Done = WriteOutcome::Done;
        BlocksApi blocks(api_);
        block.is_released = true;
        const WriteOutcome released = blocks.write(block, block.version, BlocksApi::Finalizer::gone, deadline_);
        if (released.done == Done::unknown) not_known(left_);
        if (released.done == Done::no) return GivenBack::changed;
        if (released.is_going) return GivenBack::yes; // with its finalizer
        const WriteOutcome removed = blocks.remove(block, released.version, deadline_);
        if (removed.done == Done::unknown) not_known(left_);
        return GivenBack::yes; // or somebody has taken it already
    }

    GivenBack operator()(const StoredLease& stored) {
        const auto removed = EtcdLeases(*etcd_).remove({stored}, deadline_);
        return removed.leases.empty() ? GivenBack::changed : GivenBack::yes;
    }

private:
    [[nodiscard]] GivenBack outcome_of(Written written) const {
        if (written == Written::unknown) not_known(left_);
        return written == Written::yes ? GivenBack::yes : GivenBack::changed;
    }

    /// A successor of the pod may have taken over the record meanwhile, and have seen the reservation, which names a
    /// pod of its name: whereabouts makes no other then. Without one, another range could give the address.
    void restore(const HeldRecord& held) {
        const auto pool = Survey(api_).find_pool(held.pool, deadline_);
        if (!pool) return;
        const auto now = std::find_if(pool->records.begin(), pool->records.end(), [&](const SeenRecord& record) {
            return record.key == held.record.key && record.podref == held.record.podref;
        });
        if (now == pool->records.end()) return;
        if (records_.reserve(held.reservation->name, now->podref, now->ifname, deadline_) == Written::unknown)
            not_known(left_);
    }

    kube::Api& api_;
    EtcdSession* etcd_;
    const Left& left_;
    WhereaboutsApi records_;
    const base::Deadline& deadline_;
};

} // namespace

GivenBack give_back(const Servers& servers, const Held& held, const base::Deadline& deadline) {
    return std::visit(GiveBack(servers, held.left, deadline), held.what);
}

} // namespace rdmanet::cluster
