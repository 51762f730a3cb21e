// Texts of others that may have a secret in them.
#pragma once

#include <string>
#include <string_view>

namespace rdmanet::base {

/// `text` with "..." in each place of `secret`, which a server may have repeated.
[[nodiscard]] std::string without_secret(std::string text, std::string_view secret);

} // namespace rdmanet::base
