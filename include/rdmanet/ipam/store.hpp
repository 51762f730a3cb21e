// Where leases are stored. A shared store can do each operation with one conditional write per address, an embedded
// store with one transaction. Each operation returns what it found, so that no lock around several calls is needed.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/ipam/range.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rdmanet::ipam {

/// What to do with recently released addresses if no other address is free.
enum class Resting : std::uint8_t { given, left_alone };

/// One address wanted: any of `usable`, or exactly `wanted`. `wanted` need not be in `usable`, and is given even
/// while it rests.
struct Claim {
    std::string space;
    base::Family family = base::Family::v4;
    unsigned prefix_length = 0; // of the address as it will be configured
    std::vector<Interval> usable;
    std::optional<base::IpAddress> wanted;
    std::chrono::seconds cooldown{30};
    Resting resting = Resting::given;
};

/// One lease for each claim, in the order of the claims: new ones, and those that the owner already held in these
/// slots.
struct Granted {
    std::vector<Lease> leases;
    std::vector<Lease> fresh; // leases that the owner did not have before
};
/// The wanted address of a claim belongs to another owner. Nothing was reserved.
struct Taken {
    std::size_t claim = 0;
    Lease holder;
};
/// No address of a claim is free. Resting addresses count as free unless they are left alone. Nothing was reserved.
struct Exhausted {
    std::size_t claim = 0;
    std::string detail{};                // what a person should know of the rest of the cluster, after "; "
    std::optional<StoreError> refusal{}; // why the cluster could not be asked for more
};
using ReserveOutcome = std::variant<Granted, Taken, Exhausted>;

struct Usage {
    std::uint64_t leases = 0;
    std::uint64_t cooling = 0; // released and resting; given only if nothing else is free
};

/// How long at least an address rests that another host uses: until the runtime has tried the ADD again.
inline constexpr std::chrono::seconds kForeignRest{300};
/// How long after its rest an address is remembered for the pod that had it.
inline constexpr std::chrono::seconds kRemembered{86400};

/// Addresses that this node has given, and that another may give as well.
struct Rival {
    std::string space;
    base::IpPrefix addresses;
    std::string holder; // the name of a node; empty: nobody has them, and so anybody may take them
};

/// What became of a lease that its owner still uses, and that the store should have.
struct Regained {
    Lease lease;
    std::vector<std::string> made{}; // again, because it was missing
    std::string refused{};           // why it can't be had any more; empty: the store has it now
};

/// Every call throws base::TimeoutError at its deadline, DamagedStore, and StoreError for any other refusal.
class Store {
public:
    Store() = default;
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;
    virtual ~Store() = default;

    /// An address for each claim, all or nothing: the one that a pod of this name had before (Owner::name_hash()), if it is
    /// remembered and free, else the lowest free one. If the attachment already holds a lease in a slot (position among
    /// the claims), it keeps that lease, whatever the claim says now.
    [[nodiscard]] virtual ReserveOutcome reserve(const Owner& owner, const std::vector<Claim>& claims,
                                                 const base::Deadline& deadline) = 0;

    /// What reserve() would grant, where that needs one request or transaction: the pod has no predecessors, the
    /// attachment holds nothing yet, and addresses are free. Else nullopt, and nothing was reserved. Stores that have
    /// no faster way don't try.
    [[nodiscard]] virtual std::optional<Granted>
    reserve_at_once(const Owner& /*owner*/, const std::vector<Claim>& /*claims*/, const base::Deadline& /*deadline*/) {
        return std::nullopt;
    }

    /// Releases what the attachment holds, in every space. Absence is success.
    virtual std::vector<Lease> release(const OwnerKey& key, const base::Deadline& deadline) = 0;

    /// As release(), for an ADD that failed. The leases in `unused` do not rest, because nobody can have used them. One of
    /// them without an owner was found in use by another host, and rests for everybody. Others were a predecessor's.
    virtual std::vector<Lease> withdraw(const OwnerKey& key, const std::vector<Lease>& unused,
                                        const base::Deadline& deadline) = 0;

    /// Releases those of `leases` that have not changed since they were read, and returns them.
    virtual std::vector<Lease> reclaim(const std::vector<Lease>& leases, const base::Deadline& deadline) = 0;

    /// Transfers those of `leases` to `heir` that have not changed since they were read, if the heir's slot is free.
    /// Returns them as they are now.
    virtual std::vector<Lease> adopt(const std::vector<Lease>& leases, const Owner& heir,
                                     const base::Deadline& deadline) = 0;

    /// Makes again what the store lacks of these leases, whose owners still use them. Takes nothing that somebody else has
    /// by now. One answer for each, in their order.
    [[nodiscard]] virtual std::vector<Regained> regain(const std::vector<Lease>& leases,
                                                       const base::Deadline& deadline) = 0;

    /// The attachment's leases, by slot.
    [[nodiscard]] virtual std::vector<Lease> find(const OwnerKey& key, const base::Deadline& deadline) = 0;

    /// The leases of other containers of the owner's pod, for the same interface of the same network.
    [[nodiscard]] virtual std::vector<Lease> find_predecessors(const Owner& owner, const base::Deadline& deadline) = 0;

    /// Up to `most` leases in the claim's intervals, by address, that follow `after`.
    [[nodiscard]] virtual std::vector<Lease> list(const Claim& claim, const std::optional<base::IpAddress>& after,
                                                  std::size_t most, const base::Deadline& deadline) = 0;

    /// As list(), but only leases whose owners this node can examine. Where nodes share the store, the others' need
    /// not be read.
    [[nodiscard]] virtual std::vector<Lease> list_local(const Claim& claim, const std::optional<base::IpAddress>& after,
                                                        std::size_t most, const base::Deadline& deadline) {
        return list(claim, after, most, deadline);
    }

    /// All leases, by space and address.
    [[nodiscard]] virtual std::vector<Lease> list_all(const base::Deadline& deadline) = 0;

    /// Whether reserve() would find an address in the claim's intervals. As fast as reserve().
    [[nodiscard]] virtual bool has_free(const Claim& claim, const base::Deadline& deadline) = 0;

    /// Counts within the claim's intervals. Reads each lease there.
    [[nodiscard]] virtual Usage usage(const Claim& claim, const base::Deadline& deadline) = 0;

    /// What this node knows of its addresses that somebody else may give. Asks nobody.
    [[nodiscard]] virtual std::vector<Rival> find_rivals(const base::Deadline& /*deadline*/) { return {}; }
};

} // namespace rdmanet::ipam
