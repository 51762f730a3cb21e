#include <rdmanet/base/secret.hpp>

namespace rdmanet::base {

std::string without_secret(std::string text, std::string_view secret) {
    constexpr std::string_view kHidden = "...";
    if (secret.empty()) return text;
    for (std::size_t at = 0; (at = text.find(secret, at)) != std::string::npos; at += kHidden.size())
        text.replace(at, secret.size(), kHidden);
    return text;
}

} // namespace rdmanet::base
