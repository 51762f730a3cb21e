// `rdmanet ipam release`: a person gives back what nobody else gives back. What another node holds, only reconcile
// frees.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/ops/ipam_survey.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::ops {

/// One of the two.
struct ReleaseTarget {
    std::optional<base::IpAddress> address{};
    std::string pod{}; // "NAMESPACE/NAME"
};

struct Releasable {
    std::string what;
    /// Why it is kept; empty: it may go. Asks anew each time. Throws base::Error.
    std::function<std::string()> why_kept{};
    /// False: it has changed since it was seen. Throws base::Error.
    std::function<bool()> release{};
};

/// What the stores have of the target. The survey and the clients must outlive the result.
[[nodiscard]] std::vector<Releasable> find_releasable(const ReleaseTarget& target, const IpamSurvey& survey,
                                                      const LeasePlaces& places, IpamClients& clients);

} // namespace rdmanet::ops
