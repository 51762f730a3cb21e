// Which store gives the addresses of a range: one object of the cluster says it, an AddressRange, and every store that
// reaches the API server obeys it.
#pragma once

#include "blocks/blocks_api.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cluster/migrate.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmanet::cluster {

/// Whether a pool of the same network with that subnet has addresses of the range. Where addresses are unique in their
/// range only, pools of other lengths have other ones.
[[nodiscard]] bool has_addresses_of(const RangeObject& range, const base::IpPrefix& subnet_of_pool);

/// Throws if the cluster has recorded the range of `wanted` for another store.
void require_same_store(const RangeObject& recorded, const RangeObject& wanted);
/// Throws if it is not cut as the network says, as far as that says it.
void require_same_cut(const RangeObject& recorded, std::optional<unsigned> block_size,
                      const std::optional<base::IpPrefix>& requestable);
/// Throws if somebody has deleted it: who goes on with it would keep it for good.
void require_stays(const RangeObject& range);
/// The server drops what its definition of AddressRanges does not know.
[[noreturn]] void refuse_old_kind(const RangeObject& range);
/// Of these, the one in the subnet; without host bits.
[[nodiscard]] std::optional<base::IpPrefix> requestable_in(const base::IpPrefix& subnet,
                                                           const std::vector<base::IpPrefix>& requestable);
[[noreturn]] void refuse_difference(const RangeObject& recorded, std::string_view key, const std::string& configured,
                                    const std::string& has);

class RangeRecords {
public:
    /// `outside` are the stores outside of the API server that this process can reach.
    explicit RangeRecords(BlocksApi& api, std::vector<OutsideStore*> outside = {})
        : api_(api), outside_(std::move(outside)) {}

    /// The object of the range, as it is or made like `wanted`. It is confirmed: no other range overlaps, and what other
    /// stores have of it is in `held`. Throws ipam::StoreError, also for a range of another store.
    [[nodiscard]] RangeObject record(const RangeObject& wanted, const base::Deadline& deadline);
    /// The same for an object that is there. Asks no maker to do it.
    [[nodiscard]] RangeObject finish(const RangeObject& range, const base::Deadline& deadline) {
        return confirmed({.range = range}, deadline);
    }
    /// The object says that it moves, to be what `wanted` makes of what it is then, and no longer that it is confirmed.
    /// That may throw.
    [[nodiscard]] RangeObject begin(RangeObject range, const std::string& to,
                                    const std::function<RangeObject(const RangeObject&)>& wanted,
                                    const base::Deadline& deadline);
    /// Leaves in `held` what other stores still have. Those who know an older list give less than they could.
    [[nodiscard]] RangeObject shrink(RangeObject range, const base::Deadline& deadline);
    /// What other stores have no more of `held`, of a range whose move is confirmed and that sees_all() and
    /// reaches_store(). Changes nothing.
    [[nodiscard]] std::vector<ipam::Interval> find_gone(const RangeObject& range, const base::Deadline& deadline);
    /// Takes that out of `held`: shrink() without a look at what a killed move may have left undone, so it needs fewer
    /// rights. Returns what it has taken out.
    [[nodiscard]] std::vector<ipam::Interval> release_gone(const RangeObject& range, const base::Deadline& deadline);
    /// An outside store that has the range leaves out what others still have: again, because who did it may have been
    /// killed in between.
    void leave_out(const RangeObject& range, const base::Deadline& deadline);
    /// nullptr: it is in the API server, or nobody knows it here.
    [[nodiscard]] OutsideStore* find_outside(const std::string& store) const;
    /// Throws unless sees_all().
    void require_sight(const RangeObject& range) const;
    /// Whether this process can look into all stores that the range comes from.
    [[nodiscard]] bool sees_all(const RangeObject& range) const;
    /// Whether this process can change which addresses the range's store leaves out.
    [[nodiscard]] bool reaches_store(const RangeObject& range) const;
    /// Throws if another range of the space overlaps that may not.
    void require_no_overlap(const RangeObject& range, const base::Deadline& deadline);

    /// An AddressRange of another space by which blocks have the addresses of a pool. Two spaces may share one pool: the
    /// names of pools don't say whether addresses are unique in their range only.
    [[nodiscard]] std::optional<RangeObject> find_in_other_space(const std::string& space, const base::IpPrefix& subnet,
                                                                 const base::Deadline& deadline);

private:
    struct Made {
        RangeObject range;
        bool is_ours = false; // else another node has made it at the same time
    };
    enum class Look : std::uint8_t { takes, only_reads };
    [[nodiscard]] std::vector<ipam::Interval> held_by_others(const RangeObject& range, Look look,
                                                             const base::Deadline& deadline);
    [[nodiscard]] std::vector<ipam::Interval> leases_outside(OutsideStore& outside, const RangeObject& range, Look look,
                                                             const base::Deadline& deadline);
    [[nodiscard]] Moving moving(const RangeObject& range, const base::Deadline& deadline);
    template <class Change>
    [[nodiscard]] RangeObject write_until_done(RangeObject range, Change change, const base::Deadline& deadline);
    static void require_usable(const RangeObject& range, const RangeObject& wanted);
    [[nodiscard]] bool is_abandoned(const RangeObject& range) const;
    [[nodiscard]] bool await_confirmation(RangeObject& range, const base::Deadline& deadline);
    static void require_no_other_blocks(const RangeObject& range, const std::vector<std::string>& foreign);
    [[nodiscard]] Made make(const RangeObject& wanted, const base::Deadline& deadline);
    [[nodiscard]] bool settle_overlaps(const RangeObject& self, const std::vector<RangeObject>& all, bool is_ours,
                                       const base::Deadline& deadline);
    [[nodiscard]] RangeObject confirmed(const Made& made, const base::Deadline& deadline);
    [[nodiscard]] bool confirm(RangeObject& range, const base::Deadline& deadline);

    BlocksApi& api_;
    std::vector<OutsideStore*> outside_;
};

} // namespace rdmanet::cluster
