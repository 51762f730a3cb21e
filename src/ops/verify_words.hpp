// What the two forms of verify's report have in common.
#pragma once

#include <rdmanet/verify/report.hpp>

#include <string>

namespace rdmanet::ops {

/// 0 if `whole` is not known.
[[nodiscard]] unsigned percent_of(double part, double whole);

/// The verdict, for people.
[[nodiscard]] std::string sentence_of(const verify::Report& report);

/// "0x8001"; empty for Ethernet.
[[nodiscard]] std::string pkey_text(const verify::Endpoint& end);

} // namespace rdmanet::ops
