// Which store gives the addresses of a range: one object of the cluster says it, an AddressRange, and every store that
// reaches the API server obeys it.
#pragma once

#include "blocks/blocks_api.hpp"

#include <rdmanet/base/deadline.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::cluster {

/// Whether a pool of the same network with that subnet has addresses of the range. Where addresses are unique in their
/// range only, pools of other lengths have other ones.
[[nodiscard]] bool has_addresses_of(const RangeObject& range, const base::IpPrefix& subnet_of_pool);

/// Throws if a move that an earlier version began was not ended: nobody knows which store has which addresses.
void require_not_half_moved(const RangeObject& recorded);
/// The same, and throws if the cluster has recorded the range of `wanted` for another store.
void require_same_store(const RangeObject& recorded, const RangeObject& wanted);
/// Throws if it is not cut as the network says, as far as that says it.
void require_same_cut(const RangeObject& recorded, std::optional<unsigned> block_size,
                      const std::optional<base::IpPrefix>& requestable);
/// Of these, the one in the subnet; without host bits.
[[nodiscard]] std::optional<base::IpPrefix> requestable_in(const base::IpPrefix& subnet,
                                                           const std::vector<base::IpPrefix>& requestable);
[[noreturn]] void refuse_difference(const RangeObject& recorded, std::string_view key, const std::string& configured,
                                    const std::string& has);

class RangeRecords {
public:
    explicit RangeRecords(BlocksApi& api) : api_(api) {}

    /// The object of the range, as it is or made like `wanted`. It is confirmed: no other range overlaps, and no other
    /// store has addresses of it. Throws ipam::StoreError, also for a range of another store.
    [[nodiscard]] RangeObject record(const RangeObject& wanted, const base::Deadline& deadline);
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
    static void require_usable(const RangeObject& range, const RangeObject& wanted);
    [[nodiscard]] bool is_abandoned(const RangeObject& range) const;
    [[nodiscard]] bool await_confirmation(RangeObject& range, const base::Deadline& deadline);
    void require_in_no_other_store(const RangeObject& range, const base::Deadline& deadline);
    void require_no_other_blocks(const RangeObject& range, const base::Deadline& deadline);
    [[nodiscard]] Made make(const RangeObject& wanted, const base::Deadline& deadline);
    void settle_overlaps(const RangeObject& self, const std::vector<RangeObject>& all, bool is_ours,
                         const base::Deadline& deadline);
    [[nodiscard]] RangeObject confirmed(const Made& made, const base::Deadline& deadline);

    BlocksApi& api_;
};

} // namespace rdmanet::cluster
