// Addresses and ranges in configuration text, with errors that name the fault.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/ipam/range.hpp>
#include <rdmanet/json/reader.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::ipam {

/// Throws ValueError for `at`. `text` is all or part of its value.
[[nodiscard]] base::IpAddress address_in(const json::Reader& at, std::string_view text);
[[nodiscard]] base::IpPrefix prefix_in(const json::Reader& at, std::string_view text);

/// A member that must be an address, if it is present.
[[nodiscard]] std::optional<base::IpAddress> find_address(const json::Reader& object, std::string_view key);

/// Throws ValueError for `at` unless the address has the family of `other`. The message names `other`.
void expect_family_of(const base::IpPrefix& other, const base::IpAddress& address, const json::Reader& at);

/// Throws ValueError for `at` if an interface cannot have one of these addresses, which are of one family: this host
/// or network, loopback, multicast, broadcast.
void expect_assignable(const base::IpAddress& first, const base::IpAddress& last, const json::Reader& at);

/// "IPv4" or "IPv6".
[[nodiscard]] std::string_view name_of(base::Family family);

/// Parts that whereabouts silently ignores.
struct Remarks {
    std::vector<std::string> warnings;
    std::optional<json::ValueError> fault; // the first error that makes it another range than the one that is meant
};

/// The range that `range`, `range_start`, `range_end` and `exclude` in an element of the range list describe. Throws
/// ValueError.
[[nodiscard]] Range parse_range(const json::Reader& element, Edges edges, Remarks& remarks);

} // namespace rdmanet::ipam
