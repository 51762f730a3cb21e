// What a fuzz target checks beside crashes.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace rdmanet::fuzz {

/// If `holds` is false, prints `what` and aborts, so that libFuzzer keeps the input.
inline void demand(bool holds, const std::string& what) {
    if (holds) return;
    (void)std::fprintf(stderr, "broken: %s\n", what.c_str());
    std::abort();
}

inline std::string_view as_text(const unsigned char* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

} // namespace rdmanet::fuzz
