// Texts of others that may have a secret in them.
#pragma once

#include <string>
#include <string_view>

namespace rdmanet::base {

/// `text` with "..." in each place of `secret`, which a server may have repeated: as it is, or in JSON, or in JSON
/// that is a text of JSON.
[[nodiscard]] std::string without_secret(std::string text, std::string_view secret);

/// The same of a header's value. What stands before its space is none: "Bearer TOKEN".
[[nodiscard]] std::string without_authorization(std::string text, std::string_view value);

} // namespace rdmanet::base
