// What the doctor found, for people and programs.
#pragma once

#include <rdmanet/doctor/doctor.hpp>
#include <rdmanet/ops/colours.hpp>

#include <cstdint>
#include <string>

namespace rdmanet::ops {

enum class Detail : std::uint8_t { findings, all_checks };

/// Each finding with its fix, and a summary. With `all_checks`, a table of all checks comes first.
[[nodiscard]] std::string to_text(const doctor::Report& report, Detail detail, Colours colours);
[[nodiscard]] std::string to_json(const doctor::Report& report);

/// 0: nothing worse than info; 1: warnings, or something could not be looked at; 2: failures.
[[nodiscard]] int exit_status_of(const doctor::Report& report);

} // namespace rdmanet::ops
