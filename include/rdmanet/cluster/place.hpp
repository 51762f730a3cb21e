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
[[nodiscard]] std::string network_of(const std::string& space);
[[nodiscard]] bool overlap(const base::IpPrefix& a, const base::IpPrefix& b);

} // namespace rdmanet::cluster
