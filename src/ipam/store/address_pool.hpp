// The addresses of all ranges: which are leased, which rest, which are free. Every operation keeps the table `runs`
// equal to `leases` and `cooling` together. The caller holds a transaction.
#pragma once

#include "cooling.hpp"
#include "lease_table.hpp"
#include "runs.hpp"

#include <rdmanet/ipam/store.hpp>
#include <rdmanet/ipam/store/sqlite_store.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rdmanet::ipam {

class AddressPool {
public:
    AddressPool(Database& database, Time now)
        : leases_(database), cooling_(database, now.boot), runs_(database), now_(now) {}

    /// Store::reserve(). Only Granted may be committed.
    [[nodiscard]] ReserveOutcome reserve(const Owner& owner, const std::vector<Claim>& claims);
    /// Store::reserve_at_once(). Only what is granted may be committed.
    [[nodiscard]] std::optional<Granted> reserve_at_once(const Owner& owner, const std::vector<Claim>& claims);

    /// Releases those of `leases` that are still as they were read, and returns them. Those in `unused` do not rest.
    std::vector<Lease> release(const std::vector<Lease>& leases, const std::vector<Lease>& unused = {});
    std::vector<Lease> adopt(const std::vector<Lease>& leases, const Owner& heir);
    std::size_t restore(const std::vector<Lease>& leases);
    [[nodiscard]] Regained regain(const Lease& lease);

    /// Addresses of the prefix no longer rest: they are given elsewhere.
    void forget_resting(const std::string& space, const base::IpPrefix& prefix);

    [[nodiscard]] LeaseTable& leases() { return leases_; }
    [[nodiscard]] bool has_free(const Claim& claim);
    [[nodiscard]] Usage usage(const Claim& claim);
    /// False if `runs` is not what `leases` and `cooling` say.
    [[nodiscard]] bool is_consistent() { return runs_.are_right(); }

private:
    using Slots = std::vector<std::optional<Lease>>;

    /// Takes addresses for the slots that have no lease yet.
    [[nodiscard]] ReserveOutcome fill(Slots leases, const Owner& owner, const std::vector<Claim>& claims);
    [[nodiscard]] bool is_unchanged(const Lease& lease);
    void take_wanted(const std::string& space, const base::IpAddress& wanted);
    [[nodiscard]] std::optional<base::IpAddress> take_any(const Claim& claim);
    void free_rested(const std::string& space);
    [[nodiscard]] Lease new_lease(const Owner& owner, const Claim& claim, std::size_t slot,
                                  const base::IpAddress& address) const;
    /// The attachment has this lease already. Its owner is now the attachment's present network namespace.
    [[nodiscard]] Lease keep(Lease held, const Owner& owner);
    /// The address, or why there is none.
    [[nodiscard]] std::variant<base::IpAddress, Taken, Exhausted> take(const Claim& claim, std::size_t slot);

    LeaseTable leases_;
    Cooling cooling_;
    Runs runs_;
    Time now_;
};

} // namespace rdmanet::ipam
