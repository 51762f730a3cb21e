#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>

namespace rdmanet::base {
namespace {

bool is_continuation(unsigned char byte) {
    return (byte & 0xc0U) == 0x80U;
}

/// Length of the well-formed UTF-8 sequence at `text`, 0 if there is none (RFC 3629, section 4).
std::size_t sequence_length(std::string_view text) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xc2 && lead <= 0xdf   ? 2
                               : (lead & 0xf0U) == 0xe0       ? 3
                               : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                              : 0;
    if (length == 0 || text.size() < length) return 0;
    for (std::size_t at = 1; at < length; ++at)
        if (!is_continuation(byte(at))) return 0;
    const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
    const bool surrogate = lead == 0xed && byte(1) > 0x9f;
    const bool beyond_unicode = lead == 0xf4 && byte(1) > 0x8f;
    return overlong || surrogate || beyond_unicode ? 0 : length;
}

/// U+0000 to U+001F and U+007F to U+009F: terminals also act on the second range.
bool begins_with_control(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text[0]);
    return lead < 0x20 || lead == 0x7f ||
           (lead == 0xc2 && text.size() > 1 && static_cast<unsigned char>(text[1]) < 0xa0);
}

void append_escaped(std::string& out, char c) {
    constexpr std::string_view hex = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    out.append({'\\', 'x', hex[byte >> 4U], hex[byte & 15U]});
}

} // namespace

std::string counted(std::size_t number, std::string_view one, std::string_view several) {
    return fmt::format("{} {}", number, number == 1 ? one : several);
}

std::string scoped_name(std::string_view scope, std::string_view name) {
    return scope.empty() ? std::string(name) : fmt::format("{}/{}", scope, name);
}

std::string quoted(std::string_view text, std::size_t most) {
    std::string out = "\"";
    std::size_t at = 0;
    while (at < text.size() && at < most) {
        const std::size_t length = sequence_length(text.substr(at));
        if (length == 0 || begins_with_control(text.substr(at))) {
            append_escaped(out, text[at++]);
            continue;
        }
        if (text[at] == '"' || text[at] == '\\') out.push_back('\\');
        out.append(text.substr(at, length));
        at += length;
    }
    out.append(at < text.size() ? "\"..." : "\"");
    return out;
}

std::string shortened(std::string text, std::size_t most) {
    if (text.size() <= most) return text;
    while (most > 0 && is_continuation(static_cast<unsigned char>(text[most]))) --most;
    text.resize(most);
    return text + "...";
}

std::string shell_word(std::string_view text) {
    constexpr std::string_view kHarmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:@%/";
    if (!text.empty() && text.find_first_not_of(kHarmless) == std::string_view::npos) return std::string(text);
    const bool is_printable = is_printable_utf8(text);
    std::string out = is_printable ? "'" : "$'"; // bash's form with escapes
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\'')
            out += is_printable ? "'\\''" : "\\'";
        else if (!is_printable && (c == '\\' || byte < ' ' || byte > '~'))
            append_escaped(out, c);
        else
            out.push_back(c);
    }
    return out + "'";
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = sequence_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

bool is_printable_utf8(std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = sequence_length(text);
        if (length == 0 || begins_with_control(text)) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string to_lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return out;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
    return a.size() == b.size() && to_lower(a) == to_lower(b);
}

std::string hex_pairs(std::span<const unsigned char> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : bytes) {
        if (!text.empty()) text.push_back(':');
        text.push_back(kDigits[byte >> 4U]);
        text.push_back(kDigits[byte & 15U]);
    }
    return text;
}

bool is_name_of_object(std::string_view name) {
    const auto is_alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    char before = '.';
    for (const char c : name) {
        if (!is_alphanumeric(c) && ((c != '-' && c != '.') || before == '.' || (c == '.' && before == '-')))
            return false;
        before = c;
    }
    return before != '.';
}

} // namespace rdmanet::base
