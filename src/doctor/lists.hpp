// Lists in messages.
#pragma once

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace rdmanet::doctor {

/// "a, b, c" of a container's values. After eight values, "and 3 more" follows.
template <class Values>
[[nodiscard]] std::string list_of(const Values& values) {
    constexpr std::size_t kMost = 8;
    std::vector<std::string> texts;
    for (const auto& each : values)
        if (texts.size() < kMost) texts.push_back(fmt::format("{}", each));
    if (values.size() > kMost) texts.push_back(fmt::format("and {} more", values.size() - kMost));
    return base::join(texts);
}

} // namespace rdmanet::doctor
