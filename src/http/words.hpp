// Text of configuration files whose lines consist of words.
#pragma once

#include <string_view>

namespace rdmanet::http {

/// Takes the next line out of `text`, without what follows a '#'.
[[nodiscard]] std::string_view next_line(std::string_view& text);
/// Takes the next word out of `line`; empty at the end.
[[nodiscard]] std::string_view next_word(std::string_view& line);

} // namespace rdmanet::http
