// Where leases are kept. The operations are what a shared store can do with one conditional write per address, and an
// embedded one with one transaction: each says what it found instead of asking for a lock around several calls.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/ipam/range.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rdmanet::ipam {

/// What becomes of addresses that were released a short while ago if no other is free.
enum class Resting : std::uint8_t { given, left_alone };

/// One address wanted: any of `usable`, or exactly `wanted`, which need not be among `usable` and is given even
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

/// One lease for each claim, in their order: new ones, and those that the owner held in the same slots before.
struct Granted {
    std::vector<Lease> leases;
    std::vector<Lease> fresh; // those among them that the owner did not have before
};
/// The wanted address of a claim belongs to someone else. Nothing was reserved.
struct Taken {
    std::size_t claim = 0;
    Lease holder;
};
/// No address of a claim is free, not even a resting one unless those are left alone. Nothing was reserved.
struct Exhausted {
    std::size_t claim = 0;
};
using ReserveOutcome = std::variant<Granted, Taken, Exhausted>;

struct Usage {
    std::uint64_t leases = 0;
    std::uint64_t cooling = 0; // released, and not yet given again unless nothing else is left
};

/// Every call throws base::TimeoutError at its deadline, DamagedStore, and StoreError for any other refusal.
class Store {
public:
    Store() = default;
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;
    virtual ~Store() = default;

    /// An address for each claim, all or nothing: the lowest free one. A slot (position among the claims) in which the
    /// same attachment already holds a lease keeps it, whatever the claim says by now.
    [[nodiscard]] virtual ReserveOutcome reserve(const Owner& owner, const std::vector<Claim>& claims,
                                                 const base::Deadline& deadline) = 0;

    /// Gives back what the attachment holds, in every space. Absence is success.
    virtual std::vector<Lease> release(const OwnerKey& key, const base::Deadline& deadline) = 0;

    /// As release(), but those of `unused`, which nobody can have used, don't rest. Others were a predecessor's.
    virtual std::vector<Lease> withdraw(const OwnerKey& key, const std::vector<Lease>& unused,
                                        const base::Deadline& deadline) = 0;

    /// Gives back those of `leases` that are still as they were read; returns them.
    virtual std::vector<Lease> reclaim(const std::vector<Lease>& leases, const base::Deadline& deadline) = 0;

    /// Hands those of `leases` over to `heir` that are still as they were read and whose slot the heir has free; returns
    /// them as they are now.
    virtual std::vector<Lease> adopt(const std::vector<Lease>& leases, const Owner& heir,
                                     const base::Deadline& deadline) = 0;

    /// What the attachment holds, by slot.
    [[nodiscard]] virtual std::vector<Lease> find(const OwnerKey& key, const base::Deadline& deadline) = 0;

    /// What other containers of the owner's pod hold for the same interface of the same network.
    [[nodiscard]] virtual std::vector<Lease> find_predecessors(const Owner& owner, const base::Deadline& deadline) = 0;

    /// Up to `most` leases in the claim's intervals, by address, beginning after `after`.
    [[nodiscard]] virtual std::vector<Lease> list(const Claim& claim, const std::optional<base::IpAddress>& after,
                                                  std::size_t most, const base::Deadline& deadline) = 0;

    /// All leases, by space and address.
    [[nodiscard]] virtual std::vector<Lease> list_all(const base::Deadline& deadline) = 0;

    /// Whether reserve() would find an address within the claim's intervals; as fast as that.
    [[nodiscard]] virtual bool has_free(const Claim& claim, const base::Deadline& deadline) = 0;

    /// Counts within the claim's intervals: looks at each lease there.
    [[nodiscard]] virtual Usage usage(const Claim& claim, const base::Deadline& deadline) = 0;
};

} // namespace rdmanet::ipam
