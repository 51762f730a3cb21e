// The addresses of a configured range as intervals. No code here or in its callers walks over single addresses.
#pragma once

#include <rdmanet/base/ip_address.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rdmanet::ipam {

/// Decimal text of a 128-bit number.
[[nodiscard]] std::string to_text(base::Uint128 number);

/// Addresses from `first` to `last`, both included, as numbers. An end with all bits set needs no 129th bit.
struct Interval {
    base::Uint128 first = 0;
    base::Uint128 last = 0;

    [[nodiscard]] bool contains(base::Uint128 value) const { return first <= value && value <= last; }
    friend bool operator==(const Interval&, const Interval&) = default;
};

/// "10.0.0.1", or "10.0.0.1-10.0.0.9".
[[nodiscard]] std::string to_text(base::Family family, const Interval& interval);

/// Of disjoint intervals. 2^128 does not fit and counts as 2^128 - 1.
[[nodiscard]] base::Uint128 count_of(const std::vector<Interval>& intervals);

/// Sorted, with what touches or overlaps as one.
[[nodiscard]] std::vector<Interval> merged(std::vector<Interval> intervals);
/// `from` without `holes`; both are sorted and disjoint.
[[nodiscard]] std::vector<Interval> difference(const std::vector<Interval>& from, const std::vector<Interval>& holes);

class Range {
public:
    /// All addresses in `bounds`, which must be inside `subnet`. Host bits of `subnet` are masked.
    Range(const base::IpPrefix& subnet, Interval bounds);

    /// Takes addresses out of the usable ones. `holes` may be unsorted, overlapping and outside the range.
    void remove(std::vector<Interval> holes);

    [[nodiscard]] const base::IpPrefix& subnet() const { return subnet_; }
    [[nodiscard]] base::Family family() const { return subnet_.family(); }
    /// From the first to the last address, before anything was taken out.
    [[nodiscard]] const Interval& bounds() const { return bounds_; }

    /// The usable addresses: sorted, disjoint, with gaps between.
    [[nodiscard]] const std::vector<Interval>& usable() const { return usable_; }
    /// The number of usable addresses. 2^128 does not fit and counts as 2^128 - 1.
    [[nodiscard]] base::Uint128 usable_count() const;
    /// True if `address` is usable.
    [[nodiscard]] bool contains(const base::IpAddress& address) const;

    /// "10.0.0.0/24", with the bounds if they are narrower: "10.0.0.0/24 (10.0.0.10 to 10.0.0.99)".
    [[nodiscard]] std::string to_string() const;

private:
    base::IpPrefix subnet_;
    Interval bounds_;
    std::vector<Interval> usable_;
};

/// The first and last usable address of `subnet`. As in whereabouts, the network and broadcast address are left out
/// in both families, unless they are made usable. Otherwise `subnet` must have at least four addresses.
enum class Edges : std::uint8_t { kept_free, handed_out };
[[nodiscard]] Interval bounds_of(const base::IpPrefix& subnet, Edges edges);

} // namespace rdmanet::ipam
