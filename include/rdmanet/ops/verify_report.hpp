// What `rdmanet verify` prints.
#pragma once

#include <rdmanet/ops/colours.hpp>
#include <rdmanet/verify/report.hpp>

#include <string>

namespace rdmanet::ops {

/// The ends, what was measured, checks that did not pass, and a sentence with the verdict.
[[nodiscard]] std::string to_text(const verify::Report& report, Colours colours);
/// All of it, with every check. Rates in Gb/s, times in microseconds, sizes in bytes; fractions have three digits.
[[nodiscard]] std::string to_json(const verify::Report& report);

/// 0 proven, 1 it works with warnings or too slowly, 2 it does not work.
[[nodiscard]] int exit_status_of(const verify::Report& report);

} // namespace rdmanet::ops
