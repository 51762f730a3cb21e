// The embedded store: this node's leases in one SQLite file, STATE_DIR/leases.sqlite, which exists for one boot.
#pragma once

#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/ipam/store.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::ipam {

struct Time {
    std::int64_t boot = 0;  // seconds since boot, with suspend: clock adjustments do not shorten a cooldown
    std::int64_t epoch = 0; // seconds since 1970, for people
};
/// CLOCK_BOOTTIME and CLOCK_REALTIME.
[[nodiscard]] Time system_time();

class SqliteStore final : public Store {
public:
    struct Options {
        std::string state_directory;
        /// Leases known from elsewhere (the journal): a file made new, because there was none or the old one was
        /// damaged, starts with them. May be empty.
        std::function<std::vector<Lease>()> known_leases;
        std::function<Time()> clock = system_time;
    };

    /// Touches nothing: the file is opened at the first call and made by the first reserve() or restore(). Before that
    /// what only reads finds the known leases, and every other call nothing, unless it comes after one that reads.
    explicit SqliteStore(Options options);
    ~SqliteStore() override;

    [[nodiscard]] ReserveOutcome reserve(const Owner& owner, const std::vector<Claim>& claims,
                                         const base::Deadline& deadline) override;
    [[nodiscard]] std::optional<Granted> reserve_at_once(const Owner& owner, const std::vector<Claim>& claims,
                                                         const base::Deadline& deadline) override;
    std::vector<Lease> release(const OwnerKey& key, const base::Deadline& deadline) override;
    std::vector<Lease> withdraw(const OwnerKey& key, const std::vector<Lease>& unused,
                                const base::Deadline& deadline) override;
    std::vector<Lease> reclaim(const std::vector<Lease>& leases, const base::Deadline& deadline) override;
    std::vector<Lease> adopt(const std::vector<Lease>& leases, const Owner& heir,
                             const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<Regained> regain(const std::vector<Lease>& leases,
                                               const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<Lease> find(const OwnerKey& key, const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<Lease> find_predecessors(const Owner& owner, const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<Lease> list(const Claim& claim, const std::optional<base::IpAddress>& after,
                                          std::size_t most, const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<Lease> list_all(const base::Deadline& deadline) override;
    [[nodiscard]] bool has_free(const Claim& claim, const base::Deadline& deadline) override;
    [[nodiscard]] Usage usage(const Claim& claim, const base::Deadline& deadline) override;

    /// Adds leases whose address and slot are free, in one transaction; returns how many.
    std::size_t restore(const std::vector<Lease>& leases, const base::Deadline& deadline);

    /// Moves a damaged file aside and puts one with the known leases in its place, so that no other process sees the
    /// gap. Returns the path of what was moved; nullopt if the store is absent or sound.
    std::optional<std::string> repair(const base::Deadline& deadline);

    /// What is inconsistent in the file, one sentence each. Reads everything.
    [[nodiscard]] std::vector<std::string> verify(const base::Deadline& deadline);

    /// STATE_DIR/leases.sqlite
    [[nodiscard]] const std::string& path() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace rdmanet::ipam
