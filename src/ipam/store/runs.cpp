#include "runs.hpp"

#include <rdmanet/base/format.hpp>

namespace rdmanet::ipam {
namespace {

using base::IpAddress;

bool is_highest(const IpAddress& address) {
    return address == IpAddress(address.family(), ~base::Uint128{0});
}
/// The highest address has none.
IpAddress next(const IpAddress& address) {
    return {address.family(), address.value() + 1};
}
/// The lowest address has none.
IpAddress previous(const IpAddress& address) {
    return {address.family(), address.value() - 1};
}

} // namespace

std::optional<Runs::Bounds> Runs::run_at_or_below(const std::string& space, const IpAddress& address) {
    Query query = database_.query("SELECT first, last FROM runs WHERE space = ?1 AND first <= ?2 "
                                  "ORDER BY first DESC LIMIT 1",
                                  space, AddressKey(address));
    if (!query.step()) return std::nullopt;
    const Bounds run{.first = query.address(0), .last = query.address(1)};
    if (run.last < run.first || run.first.family() != run.last.family())
        database_.fail_as_damaged("a run of addresses ends before it begins");
    if (run.first.family() != address.family()) return std::nullopt;
    return run;
}

std::optional<IpAddress> Runs::last_of_run_from(const std::string& space, const IpAddress& first) {
    Query query = database_.query("SELECT last FROM runs WHERE space = ?1 AND first = ?2", space, AddressKey(first));
    if (!query.step()) return std::nullopt;
    return query.address(0);
}

void Runs::insert_run(const std::string& space, const IpAddress& first, const IpAddress& last) {
    database_.run("INSERT INTO runs(space, first, last) VALUES(?1, ?2, ?3)", space, AddressKey(first),
                  AddressKey(last));
}

void Runs::erase_run(const std::string& space, const IpAddress& first) {
    database_.run("DELETE FROM runs WHERE space = ?1 AND first = ?2", space, AddressKey(first));
}

void Runs::set_last(const std::string& space, const IpAddress& first, const IpAddress& last) {
    database_.run("UPDATE runs SET last = ?3 WHERE space = ?1 AND first = ?2", space, AddressKey(first),
                  AddressKey(last));
}

std::optional<IpAddress> Runs::lowest_free(const Claim& claim) {
    std::optional<Bounds> run;
    for (const Interval& interval : claim.usable) {
        const IpAddress first(claim.family, interval.first);
        const bool known = run && first <= run->last; // the run that filled the interval before reaches into this one
        if (!known) run = run_at_or_below(claim.space, first);
        if (!run || run->last < first) return first;
        // Runs are maximal: what follows one is free.
        if (run->last.value() < interval.last) return next(run->last);
    }
    return std::nullopt;
}

void Runs::insert(const std::string& space, const IpAddress& address) {
    const auto left = run_at_or_below(space, address);
    if (left && address <= left->last)
        database_.fail_as_damaged(fmt::format("{} counts as taken without a lease", address));
    const auto right_last = is_highest(address) ? std::nullopt : last_of_run_from(space, next(address));
    if (right_last) erase_run(space, next(address));
    const IpAddress last = right_last.value_or(address);
    if (left && next(left->last) == address)
        set_last(space, left->first, last);
    else
        insert_run(space, address, last);
}

void Runs::erase(const std::string& space, const IpAddress& address) {
    const auto run = run_at_or_below(space, address);
    if (!run || run->last < address)
        database_.fail_as_damaged(fmt::format("{} counts as free although it was leased", address));
    if (run->first < address)
        set_last(space, run->first, previous(address));
    else
        erase_run(space, address);
    if (address < run->last) insert_run(space, next(address), run->last);
}

namespace {

/// Calls `visit` with each maximal run of taken addresses, in order.
template <class Visit>
void visit_true_runs(Database& database, Visit visit) {
    Query taken = database.query("SELECT space, address FROM leases UNION ALL SELECT space, address FROM cooling "
                                 "ORDER BY 1, 2");
    std::optional<Run> run;
    while (taken.step()) {
        const std::string space = taken.text(0);
        const IpAddress address = taken.address(1);
        const bool same_kind = run && run->space == space && run->last.family() == address.family();
        if (same_kind && address == run->last)
            database.fail_as_damaged(fmt::format("{} is leased and resting at once", address));
        if (same_kind && !is_highest(run->last) && next(run->last) == address) {
            run->last = address;
            continue;
        }
        if (run) visit(*run);
        run.emplace(Run{space, address, address});
    }
    if (run) visit(*run);
}

} // namespace

void Runs::rebuild() {
    database_.run("DELETE FROM runs");
    visit_true_runs(database_, [&](const Run& run) { insert_run(run.space, run.first, run.last); });
}

bool Runs::are_right() {
    Query stored = database_.query("SELECT space, first, last FROM runs ORDER BY space, first");
    bool right = true;
    visit_true_runs(database_, [&](const Run& run) {
        right = right && stored.step() && Run{stored.text(0), stored.address(1), stored.address(2)} == run;
    });
    return right && !stored.step();
}

} // namespace rdmanet::ipam
