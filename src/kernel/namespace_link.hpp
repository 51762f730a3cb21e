// The links in /proc/PID/ns.
#pragma once

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace rdmanet::kernel {

/// The number in "net:[4026531840]" (namespaces(7)), for the kind "net".
[[nodiscard]] inline std::optional<std::uint64_t> parse_namespace(std::string_view text, std::string_view kind) {
    if (!text.starts_with(fmt::format("{}:[", kind)) || !text.ends_with(']')) return std::nullopt;
    text.remove_prefix(kind.size() + 2);
    text.remove_suffix(1);
    return base::parse_integer<std::uint64_t>(text);
}

} // namespace rdmanet::kernel
