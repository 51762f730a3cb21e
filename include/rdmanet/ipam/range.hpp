// The addresses of one configured range as intervals: nothing here or behind it ever walks over addresses.
#pragma once

#include <rdmanet/base/ip_address.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rdmanet::ipam {

/// Decimal text of a 128-bit number.
[[nodiscard]] std::string to_text(base::Uint128 number);

/// Addresses from `first` to `last`, both included, as numbers: an end of all ones needs no 129th bit.
struct Interval {
    base::Uint128 first = 0;
    base::Uint128 last = 0;

    [[nodiscard]] bool contains(base::Uint128 value) const { return first <= value && value <= last; }
    friend bool operator==(const Interval&, const Interval&) = default;
};

class Range {
public:
    /// All addresses in `bounds`, which must lie in `subnet`. Host bits of `subnet` are masked.
    Range(const base::IpPrefix& subnet, Interval bounds);

    /// Takes addresses out of the usable ones. `holes` need be neither sorted nor disjoint nor inside of the range.
    void remove(std::vector<Interval> holes);

    [[nodiscard]] const base::IpPrefix& subnet() const { return subnet_; }
    [[nodiscard]] base::Family family() const { return subnet_.family(); }
    /// From the first to the last address before anything was removed.
    [[nodiscard]] const Interval& bounds() const { return bounds_; }

    /// What may be handed out: sorted, disjoint, with gaps between.
    [[nodiscard]] const std::vector<Interval>& usable() const { return usable_; }
    /// Number of usable addresses; 2^128, which does not fit, counts as 2^128 - 1.
    [[nodiscard]] base::Uint128 usable_count() const;
    /// True if `address` may be handed out.
    [[nodiscard]] bool contains(const base::IpAddress& address) const;

    /// "10.0.0.0/24", with the bounds where they are narrower: "10.0.0.0/24 (10.0.0.10 to 10.0.0.99)".
    [[nodiscard]] std::string to_string() const;

private:
    base::IpPrefix subnet_;
    Interval bounds_;
    std::vector<Interval> usable_;
};

/// First and last address to hand out from `subnet`: without network and broadcast address in both families
/// (as whereabouts does), unless they are handed out as well. `subnet` must have four addresses at least if not.
enum class Edges : std::uint8_t { kept_free, handed_out };
[[nodiscard]] Interval bounds_of(const base::IpPrefix& subnet, Edges edges);

} // namespace rdmanet::ipam
