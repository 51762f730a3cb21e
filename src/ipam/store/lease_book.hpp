// The leases of a node and the addresses that rest, as a value: which addresses are given, to whom, and which are free.
// A node has some hundred of them, so every question is a walk over sorted rows. A row stays the line of the file that
// it was until somebody asks whose lease it is: most calls are about one row. Where leases are in blocks, the book also
// has the ranges and blocks, which BlockRows reads and changes.
#pragma once

#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/ipam/store.hpp>
#include <rdmanet/ipam/store/block.hpp>
#include <rdmanet/ipam/store/lease_file.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rdmanet::ipam {

/// An address that was released, and that nobody but the pod that had it gets before `until` while others are free: its
/// peers still remember who had it. While that pod has it again, it stays here, in case its ADD fails.
struct RestingAddress {
    std::string space;
    base::IpAddress address;
    std::int64_t until = 0;  // seconds of CLOCK_BOOTTIME
    std::uint64_t whose = 0; // Owner::name_hash()

    friend bool operator==(const RestingAddress&, const RestingAddress&) = default;
};

class LeaseBook {
public:
    explicit LeaseBook(Time now) : now_(now) {}
    /// With those whose address and slot no earlier one has.
    LeaseBook(Time now, const std::vector<Lease>& known);
    LeaseBook(LeaseBook&&) = default; // a copy's rows would be in the original's text
    LeaseBook& operator=(LeaseBook&&) = default;

    /// Store::reserve() and Store::reserve_at_once(). After another outcome than Granted the book must not be kept.
    [[nodiscard]] ReserveOutcome reserve(const Owner& owner, const std::vector<Claim>& claims);
    [[nodiscard]] std::optional<Granted> reserve_at_once(const Owner& owner, const std::vector<Claim>& claims);

    /// Releases those of `leases` that are still as they were read, and returns them. `unused`: as in Store::withdraw().
    std::vector<Lease> release(const std::vector<Lease>& leases, const std::vector<Lease>& unused = {});
    std::vector<Lease> adopt(const std::vector<Lease>& leases, const Owner& heir);
    [[nodiscard]] Regained regain(const Lease& lease);
    /// Addresses of the prefix no longer rest: they are given elsewhere.
    void forget_resting(const std::string& space, const base::IpPrefix& prefix);

    /// By space and address.
    [[nodiscard]] std::vector<Lease> leases() const;
    [[nodiscard]] std::optional<Lease> find(const std::string& space, const base::IpAddress& address) const;
    /// By slot.
    [[nodiscard]] std::vector<Lease> find_by_owner(const OwnerKey& key) const;
    /// Those of the pod's other containers, for the same interface of the same network.
    [[nodiscard]] std::vector<Lease> find_by_pod(const Owner& owner) const;
    /// In the claim's intervals, by address, after `after`.
    [[nodiscard]] std::vector<Lease> list(const Claim& claim, const std::optional<base::IpAddress>& after,
                                          std::size_t most) const;
    [[nodiscard]] bool has_free(const Claim& claim) const;
    [[nodiscard]] Usage usage(const Claim& claim) const;

    std::vector<BlockRange> ranges;
    std::vector<Block> blocks; // by space and address

    /// Whether something was changed since the book was read.
    [[nodiscard]] bool is_changed() const { return is_changed_; }
    void note_change() { is_changed_ = true; }

    /// One line for each row, and one at the end that shows whether all of them are there.
    /// `inode` is that of the file that gets the text: a copy that somebody puts back is another file.
    [[nodiscard]] std::string to_text(std::uint64_t inode) const;
    /// Of the text in the file with that inode. Blocks of a file that was put back count as unconfirmed: the cluster may
    /// have given them to another node since. Throws NotABook, and NewerBook.
    [[nodiscard]] static LeaseBook parse(std::string text, std::uint64_t inode, Time now);

private:
    struct Row {
        std::string_view space; // as it is written in `line`
        base::IpAddress address;
        std::string_view line; // in source_ or written_
    };
    using Slots = std::vector<std::optional<Lease>>;

    /// Takes addresses for the slots that have no lease yet.
    [[nodiscard]] ReserveOutcome fill(Slots slots, const Owner& owner, const std::vector<Claim>& claims);
    /// The address, or why there is none.
    [[nodiscard]] std::variant<base::IpAddress, Taken, Exhausted> take(const Claim& claim, std::size_t slot,
                                                                       std::uint64_t whose);
    [[nodiscard]] std::optional<base::IpAddress> lowest_free(const Claim& claim) const;
    /// The first that nobody has and that was the pod's.
    [[nodiscard]] const RestingAddress* find_own(const Claim& claim, std::uint64_t whose) const;
    [[nodiscard]] const RestingAddress* longest_resting(const Claim& claim) const;
    [[nodiscard]] bool is_leased(const RestingAddress& resting) const;
    [[nodiscard]] bool rests(const RestingAddress& resting) const;
    [[nodiscard]] bool is_remembered(const RestingAddress& resting) const;
    void let_rest(const Lease& lease, std::chrono::seconds cooldown, std::uint64_t whose);
    /// Unless it is the pod's.
    void stop_resting(const Lease& lease, std::uint64_t whose);
    /// Calls `act` for the leases whose rows have the word in them.
    template <class Act>
    void for_each_with(std::string_view word, Act act) const;
    [[nodiscard]] Row row_of(const Lease& lease);
    bool insert(const Lease& lease);
    /// False if its address, or its owner's slot, is there already.
    bool restore(const Lease& lease);
    /// The row of the lease, if that is still as it was read: nullptr otherwise.
    [[nodiscard]] Row* find_unchanged(const Lease& lease);

    Time now_;
    std::shared_ptr<const std::string> source_; // what was parsed
    std::deque<std::string> written_;           // rows that are new
    std::vector<Row> rows_;                     // by space, as it is written, and address
    std::vector<RestingAddress> resting_;
    bool is_changed_ = false;
};

/// A lease as a line, and the other way. parse_lease() throws NotABook.
[[nodiscard]] std::string line_of(const Lease& lease);
[[nodiscard]] Lease parse_lease(std::string_view line);
/// As a field of a line.
[[nodiscard]] std::string escaped(std::string_view text);
/// The text of a file with its last line.
[[nodiscard]] std::string sealed(std::string text);

/// The text was cut, changed, or is something else.
class NotABook : public DamagedStore {
public:
    explicit NotABook(std::string why) : DamagedStore("the lease store is damaged: " + why), why_(std::move(why)) {}

    [[nodiscard]] const std::string& why() const { return why_; }

private:
    std::string why_;
};
/// A newer version of this program has written it.
class NewerBook : public base::Error {
public:
    using Error::Error;
};

} // namespace rdmanet::ipam
