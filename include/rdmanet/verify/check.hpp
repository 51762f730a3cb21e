// What is looked at before the first packet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::verify {

enum class Outcome : std::uint8_t {
    ok,
    warning, // RDMA works, but programs may fail or be slow
    failure, // RDMA cannot work
};
[[nodiscard]] std::string_view to_string(Outcome outcome);

struct Check {
    std::string id;      // "gid"
    std::string subject; // "default/web net1"
    Outcome outcome = Outcome::ok;
    std::string what{}; // the value found, and for the others what was expected
    std::string fix{};  // a command, or what to do; empty if all is well
};

/// Outcome::ok of an empty list.
[[nodiscard]] inline Outcome worst_of(const std::vector<Check>& checks) {
    Outcome worst = Outcome::ok;
    for (const Check& each : checks) worst = std::max(worst, each.outcome);
    return worst;
}

} // namespace rdmanet::verify
