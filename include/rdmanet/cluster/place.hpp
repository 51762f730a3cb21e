// A range, and the space in which each of its addresses is given once.
#pragma once

#include <rdmanet/base/ip_address.hpp>

#include <string>

namespace rdmanet::cluster {

/// A range of the cluster, in the space in which an address is given once, with '@' and the range behind or without.
struct Place {
    std::string space; // ipam::Lease::space
    base::IpPrefix subnet;

    friend bool operator==(const Place&, const Place&) = default;
};

/// The space without what is behind '@': in blocks an address is given once in all ranges of that network name.
[[nodiscard]] inline std::string network_of(const std::string& space) {
    return space.substr(0, space.find('@'));
}
[[nodiscard]] inline bool overlap(const base::IpPrefix& a, const base::IpPrefix& b) {
    return a.contains(b.network()) || b.contains(a.network());
}
/// Whether the range has all addresses of `part`.
[[nodiscard]] inline bool covers(const base::IpPrefix& range, const base::IpPrefix& part) {
    return range.contains(part.network()) && range.contains(part.last());
}

} // namespace rdmanet::cluster
