// Base64 (RFC 4648, section 4): how JSON and YAML carry bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::base {

[[nodiscard]] std::string encode_base64(std::string_view bytes);

/// nullopt if the text is not base64. Line ends and blanks in it are ignored.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

} // namespace rdmanet::base
