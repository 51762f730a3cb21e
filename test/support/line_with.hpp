// A part of a table.
#pragma once

#include <string>

namespace rdmanet::test {

/// The line of `text` with `part`. Empty if there is none.
inline std::string line_with(const std::string& part, const std::string& text) {
    const auto at = text.find(part);
    if (at == std::string::npos) return {};
    const auto begin = text.rfind('\n', at) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
}

} // namespace rdmanet::test
