// What is wrong in a survey of the lease stores.
#pragma once

#include <rdmanet/ops/ipam_survey.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::ops {

enum class Wrong : std::uint8_t {
    missing,    // somebody uses an address that no store has for him
    twice,      // two have one address
    stale,      // nobody uses it any more
    unreadable, // nobody can say whose it is
    ignored,    // an AddressRange that counts for nothing
    size,       // it is nearly as large as the API server takes
    differs,    // an attachment of this node is not as its ADD left it
};
/// "missing", "double", "stale", "unreadable", "ignored", "size", "differs"
[[nodiscard]] std::string_view to_string(Wrong wrong);

struct IpamFault {
    Wrong wrong = Wrong::stale;
    std::string about; // the object or lease
    std::string text;  // why, and what to do
    std::string pod;   // "NAMESPACE/NAME" that a look at the pod itself can clear; else empty

    friend bool operator==(const IpamFault&, const IpamFault&) = default;
};

// What `about` says.
[[nodiscard]] std::string about(const cluster::SeenPool& pool);
[[nodiscard]] std::string about(const cluster::SeenPool& pool, const cluster::SeenRecord& record);
[[nodiscard]] std::string about(const cluster::SeenReservation& reservation);
[[nodiscard]] std::string about(const cluster::IgnoredRange& range);
[[nodiscard]] std::string about(const cluster::SeenBlock& block);

/// Whatever one look shows. What is just being changed may be among it: `rdmanet ipam check` looks twice.
[[nodiscard]] std::vector<IpamFault> find_faults(const IpamSurvey& survey);

} // namespace rdmanet::ops
