// The end of a message: where something was tried, for how long, and what is not known of it.
#pragma once

#include <rdmanet/base/format.hpp>
#include <rdmanet/http/pause.hpp>

#include <string>
#include <string_view>

namespace rdmanet::cluster {

/// `trouble`: of the latest write whose outcome is not known, or empty. It names the server, too.
[[nodiscard]] inline std::string what_is_known(std::string_view trouble) {
    return trouble.empty() ? std::string() : fmt::format(": {}", trouble);
}

/// ", at https://host:6443, after 1.5 s: TROUBLE"
[[nodiscard]] inline std::string tried_at(std::string_view server, const http::Stopwatch& watch,
                                          std::string_view trouble = {}) {
    return fmt::format("{}{}, after {}{}", server.empty() ? "" : ", at ", server, watch.text(), what_is_known(trouble));
}

} // namespace rdmanet::cluster
