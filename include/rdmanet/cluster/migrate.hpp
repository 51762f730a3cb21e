// `rdmanet ipam migrate`: a range goes to another store, while pods come and go. Nothing is copied.
//
// The range's AddressRange decides which store gives its addresses. It says in this order:
//   FROM                          FROM gives addresses
//   FROM>TO, not confirmed        TO gives none yet: what other stores have is collected into `held`
//   FROM>TO, confirmed, `held`    TO gives all addresses but those
//   TO                            no other store has an address any more
// From the third on, the next run of this command or of `rdmanet ipam reconcile` takes out of `held` what has gone.
// FROM gives addresses until it knows, and these are in `held`, too: pools until they are marked, and nodes from the
// blocks that they have. Leases stay where the journals of their attachments say, until their pods end. Whoever is
// killed in between leaves one of these states, from which a node's next ADD and this command go on. The way back is
// the same.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/cluster/whereabouts_store.hpp>
#include <rdmanet/ipam/range.hpp>
#include <rdmanet/kube/api.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::cluster {

/// A range on its way, as its AddressRange says.
struct Moving {
    Place place;
    std::string object; // the name of the AddressRange
    std::string from;   // may be several: "blocks+whereabouts"
    std::string to;
    /// Asks the API server whether the AddressRange still says so.
    std::function<bool()> is_still_so;
};

/// A store whose leases are not in the API server. Its methods throw ipam::StoreError.
class OutsideStore {
public:
    OutsideStore() = default;
    OutsideStore(const OutsideStore&) = delete;
    OutsideStore& operator=(const OutsideStore&) = delete;
    virtual ~OutsideStore() = default;

    /// As in AddressRanges.
    [[nodiscard]] virtual std::string name() const = 0;
    /// Whether the range is this store's, as far as that one knows. For a range that the cluster has not recorded.
    [[nodiscard]] virtual bool has_range(const Place& place, const base::Deadline& deadline) = 0;
    /// Throws if this is not where the range is or was: another server, for example.
    virtual void require_range(const Place& place, const std::string& object, const base::Deadline& deadline) = 0;
    /// The range will come here: from now on, this is where it is.
    virtual void expect(const Place& place, const std::string& from, const base::Deadline& deadline) = 0;
    /// The range goes to another store. Makes sure that no address of it is given any more, then returns what it has.
    [[nodiscard]] virtual std::vector<ipam::Interval> take(const Moving& moving, const base::Deadline& deadline) = 0;
    /// The range comes to this store, or is there. No address of `held` is given from now on. May be done again. Two
    /// opposite moves: this one changes nothing unless the AddressRange was still so after it had looked at its own
    /// record, which take() changes.
    virtual void leave_out(const Moving& moving, const std::vector<ipam::Interval>& held,
                           const base::Deadline& deadline) = 0;
    /// Who has addresses of the range, for people, and which.
    struct Holder {
        std::string text;
        std::vector<ipam::Interval> addresses;
    };
    [[nodiscard]] virtual std::vector<Holder> describe(const Place& place, const base::Deadline& deadline) = 0;
};

struct MigrateOptions {
    std::vector<Place> places; // of one network
    std::string to;            // "whereabouts" or "blocks", or the name of an outside store
    enum class Act : std::uint8_t { only_looks, moves };
    Act act = Act::moves;
    // Of blocks, for a range that the cluster has not cut before.
    std::optional<unsigned> block_size{};
    std::vector<base::IpPrefix> requestable{};
    /// For how long whereabouts must write nothing.
    std::chrono::seconds pause{10};
    std::function<void(const std::string&)> note{};
    /// That this process can reach. They must outlive the call.
    std::vector<OutsideStore*> outside{};
};

struct MigratedRange {
    Place place;
    std::string object; // its AddressRange
    std::string from;   // empty: nothing was recorded, and no pool has addresses of it
    bool is_moved = false;
    bool is_going = false; // somebody has deleted its AddressRange
    /// What other stores have, sorted and disjoint.
    std::vector<ipam::Interval> held{};
    std::vector<std::string> holders{}; // which objects have it, for people
};

/// Moves all ranges. What can be known before is refused before anything is changed. `moved` gets each range when it is
/// done, so it has the ones before a failure. Throws ipam::StoreError.
void migrate(kube::Api& api, const MigrateOptions& options, std::vector<MigratedRange>& moved,
             const base::Deadline& deadline);

} // namespace rdmanet::cluster
