// What large libraries do before main(), for the calls that use them: see cmake/late.cmake.
#pragma once

namespace rdmanet::base {

/// Before the first use of OpenSSL, yaml-cpp, libnghttp2 or CLI11. Only the first call does anything.
void start_late_parts();

} // namespace rdmanet::base
