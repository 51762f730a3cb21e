// The node's own store: its leases in one small file, STATE_DIR/leases, which exists for one boot. It is read and
// written as a whole: a temporary file, then rename(2). So whoever reads needs no lock, and a writer that is killed
// has changed nothing.
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

class LeaseFile final : public Store {
public:
    struct Options {
        std::string state_directory;
        /// Leases known from elsewhere (the journal): a file made new, because there was none or the old one was
        /// damaged, starts with them. May be empty.
        std::function<std::vector<Lease>()> known_leases;
        std::function<Time()> clock = system_time;
    };

    /// Touches nothing: the file is made by the first reserve() or regain(). Before that what only reads finds
    /// the known leases, and every other call nothing, unless it comes after one that reads.
    explicit LeaseFile(Options options);
    ~LeaseFile() override;

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

    /// Removes what a writer that was killed has left. Calls that write do that, too.
    void tidy(const base::Deadline& deadline);

    /// Moves a damaged file aside and puts one with the known leases in its place, so that no other process sees the
    /// gap. Returns the path of what was moved; nullopt if the store is absent or sound.
    std::optional<std::string> repair(const base::Deadline& deadline);

    [[nodiscard]] bool is_there() const;
    /// STATE_DIR/leases
    [[nodiscard]] const std::string& path() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace rdmanet::ipam
