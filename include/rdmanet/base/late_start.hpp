// What large libraries do before main(), for the calls that use them: see cmake/late.ld.
#pragma once

namespace rdmanet::base {

/// Before the first use of OpenSSL, yaml-cpp, libnghttp2, libibverbs, a stream of the C++ library, or a module that
/// only people's commands use. The linker finds uses of their tables, but not calls of their functions. Only the
/// first call does anything.
void start_late_parts();

} // namespace rdmanet::base
