#include <rdmanet/base/secret.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace rdmanet::base {

namespace {

/// "u0022" is the code of a quotation mark.
bool is_code_of(std::string_view text, char wanted) {
    constexpr std::size_t kCode = 5;
    if (text.size() < kCode || text.front() != 'u') return false;
    unsigned code = 0;
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + kCode, code, 16);
    return error == std::errc() && end == text.data() + kCode && code == static_cast<unsigned char>(wanted);
}

/// How much of `text` the secret takes at its beginning, with any number of backslashes where JSON writes some. 0: it
/// is not there.
std::size_t length_in(std::string_view text, std::string_view secret) {
    std::size_t at = 0;
    for (std::size_t next = 0; next < secret.size(); ++next) {
        const char wanted = secret[next];
        const std::size_t after = std::min(text.find_first_not_of('\\', at), text.size());
        const bool is_escaped = after != at;
        if (is_escaped && is_code_of(text.substr(after), wanted)) {
            at = after + std::string_view("u0022").size();
        } else if (wanted == '\\' && is_escaped) {
            next = std::min(secret.find_first_not_of('\\', next), secret.size()) - 1;
            at = after;
        } else if (after < text.size() && text[after] == wanted && (!is_escaped || wanted == '"' || wanted == '/')) {
            at = after + 1;
        } else {
            return 0;
        }
    }
    return at;
}

} // namespace

std::string without_secret(std::string text, std::string_view secret) {
    constexpr std::string_view kHidden = "...";
    if (secret.empty()) return text;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = length_in(std::string_view(text).substr(at), secret);
        if (length != 0) text.replace(at, length, kHidden);
        at += length != 0 ? kHidden.size() : 1;
    }
    return text;
}

std::string without_authorization(std::string text, std::string_view value) {
    return without_secret(std::move(text), value.substr(value.find(' ') + 1));
}

} // namespace rdmanet::base
