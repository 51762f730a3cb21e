// What a configuration of `ipam` is refused or warned about for.
#pragma once

#include "fixture.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <string_view>

namespace rdmanet::ipam::test {

/// "accepted" if there is none.
inline std::string refusal_of(std::string_view ipam) {
    try {
        (void)config(ipam);
    } catch (const json::ValueError& error) {
        return error.what();
    }
    return "accepted";
}

inline std::string only_warning(std::string_view ipam) {
    const auto warnings = config(ipam).warnings;
    REQUIRE(warnings.size() == 1);
    return warnings.front();
}

} // namespace rdmanet::ipam::test
