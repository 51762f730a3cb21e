#include <rdmanet/ipam/range.hpp>

#include <rdmanet/base/format.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::ipam {

using base::Uint128;

std::vector<Interval> merged(std::vector<Interval> intervals) {
    std::ranges::sort(intervals, [](const Interval& a, const Interval& b) { return a.first < b.first; });
    std::vector<Interval> merged;
    for (const Interval& next : intervals) {
        // next.first > last here, so next.first - 1 can not wrap, as last + 1 could.
        if (!merged.empty() && (next.first <= merged.back().last || next.first - 1 == merged.back().last))
            merged.back().last = std::max(merged.back().last, next.last);
        else
            merged.push_back(next);
    }
    return merged;
}

std::vector<Interval> difference(const std::vector<Interval>& from, const std::vector<Interval>& holes) {
    std::vector<Interval> rest;
    auto hole = holes.begin();
    for (Interval piece : from) {
        while (hole != holes.end() && hole->last < piece.first) ++hole;
        bool used_up = false;
        for (auto at = hole; at != holes.end() && at->first <= piece.last && !used_up; ++at) {
            if (at->first > piece.first) rest.push_back({piece.first, at->first - 1});
            used_up = at->last >= piece.last;
            if (!used_up) piece.first = at->last + 1;
        }
        if (!used_up) rest.push_back(piece);
    }
    return rest;
}

std::string to_text(Uint128 number) {
    std::string digits;
    do {
        digits.push_back(static_cast<char>('0' + static_cast<int>(number % 10)));
        number /= 10;
    } while (number != 0);
    std::ranges::reverse(digits);
    return digits;
}

std::string to_text(base::Family family, const Interval& interval) {
    const base::IpAddress first(family, interval.first);
    if (interval.first == interval.last) return first.to_string();
    return fmt::format("{}-{}", first, base::IpAddress(family, interval.last));
}

Range::Range(const base::IpPrefix& subnet, Interval bounds)
    : subnet_(*base::IpPrefix::make(subnet.network(), subnet.length())), bounds_(bounds), usable_{bounds} {}

void Range::remove(std::vector<Interval> holes) {
    usable_ = difference(usable_, merged(std::move(holes)));
}

Uint128 Range::usable_count() const {
    Uint128 count = 0;
    for (const Interval& interval : usable_) {
        const Uint128 all_but_one = interval.last - interval.first;
        if (all_but_one == ~Uint128{0}) return all_but_one;
        count += all_but_one + 1;
    }
    return count;
}

bool Range::contains(const base::IpAddress& address) const {
    if (address.family() != family()) return false;
    const auto after = std::upper_bound(usable_.begin(), usable_.end(), address.value(),
                                        [](Uint128 value, const Interval& i) { return value < i.first; });
    return after != usable_.begin() && std::prev(after)->contains(address.value());
}

std::string Range::to_string() const {
    const bool whole =
        bounds_ == bounds_of(subnet_, Edges::handed_out) ||
        (subnet_.length() + 2 <= base::address_bits(family()) && bounds_ == bounds_of(subnet_, Edges::kept_free));
    if (whole) return subnet_.to_string();
    return fmt::format("{} ({} to {})", subnet_, base::IpAddress(family(), bounds_.first),
                       base::IpAddress(family(), bounds_.last));
}

Interval bounds_of(const base::IpPrefix& subnet, Edges edges) {
    const Uint128 first = subnet.network().value();
    const Uint128 last = subnet.last().value();
    if (edges == Edges::handed_out) return {first, last};
    return {first + 1, last - 1};
}

} // namespace rdmanet::ipam
