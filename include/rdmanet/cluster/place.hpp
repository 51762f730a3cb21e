// A range, the space in which each of its addresses is given once, and the names of its objects.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/ipam/lease.hpp>

#include <functional>
#include <optional>
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

/// Each range of a network has a pool, and so has each lease.
[[nodiscard]] Place place_of(const ipam::Lease& lease);

/// Names of objects, as whereabouts makes them from a space and a subnet or address.
[[nodiscard]] std::string pool_name(const Place& place);
/// Of a pool of the space; nullopt for other pools.
[[nodiscard]] std::optional<base::IpPrefix> subnet_of_pool(const std::string& space, const std::string& name);
/// Whether a pool of that name has addresses of the space and subnet: the network's pool, or one with the slice that a
/// node has of it (`node_slice_size`). The names of nodes and the texts of IPv6 addresses both have dashes, so
/// `is_node` is asked for each node that the name may mean.
[[nodiscard]] bool is_pool_of(const std::string& space, const base::IpPrefix& subnet, const std::string& name,
                              const std::function<bool(const std::string& node)>& is_node);
[[nodiscard]] std::string reservation_name(const std::string& space, const base::IpAddress& address);
/// The other way round; nullopt for names of another space.
[[nodiscard]] std::optional<base::IpAddress> address_of_reservation(const std::string& space, const std::string& name);

/// A node, as a reservation or a block names it. All of it together: a name alone never counts.
struct ThisNode {
    std::string name;       // of its Node object
    std::string uid;        // of that object; empty if it is not known
    std::string machine_id; // /etc/machine-id; empty if there is none
    std::string boot_id;

    friend bool operator==(const ThisNode&, const ThisNode&) = default;
};

} // namespace rdmanet::cluster
