#include <rdmanet/base/url.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>

namespace rdmanet::base {
namespace {

/// Without user information, query and fragment: they may be secrets. RFC 3986, section 3.2.1, ends the first at the
/// last '@' of the authority; one behind it may be a password with a '/' in it.
std::string without_secrets(std::string_view text) {
    const auto at = text.rfind('@');
    const auto query = text.find_first_of("?#", at == std::string_view::npos ? 0 : at);
    if (query != std::string_view::npos) return without_secrets(text.substr(0, query)) + "...";
    if (at == std::string_view::npos) return std::string(text);
    const auto scheme = text.find("://");
    const std::string_view before = scheme < at ? text.substr(0, scheme + 3) : std::string_view();
    return fmt::format("{}...{}", before, text.substr(at));
}

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
    throw UrlError(fmt::format("server {}: {}", quoted(without_secrets(text)), why));
}

bool is_port(std::string_view text) {
    const auto number = parse_integer<unsigned>(text);
    return number && *number > 0 && *number < 65536;
}

bool is_host_character(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' ||
           c == '_' || c == ':';
}

} // namespace

Url Url::parse(std::string_view text) {
    Url url;
    std::string_view rest = text;
    if (rest.starts_with("https://"))
        rest.remove_prefix(8);
    else if (rest.starts_with("http://"))
        rest.remove_prefix(7), url.is_secure = false;
    else
        refuse(text, "expected https://HOST:PORT or http://HOST:PORT");
    const auto slash = rest.find('/');
    std::string_view authority = rest.substr(0, slash);
    if (slash != std::string_view::npos) url.base = rest.substr(slash);
    while (url.base.ends_with('/')) url.base.pop_back();
    if (text.find_first_of("@?# \t\r\n") != std::string_view::npos)
        refuse(text, "expected no user, query, fragment or space in it");
    url.port = url.is_secure ? "443" : "80";
    if (authority.starts_with('[')) {
        const auto end = authority.find(']');
        if (end == std::string_view::npos) refuse(text, "expected ']' behind the IPv6 address");
        url.host = authority.substr(1, end - 1);
        authority.remove_prefix(end + 1);
    } else {
        const auto colon = std::min(authority.find(':'), authority.size());
        url.host = authority.substr(0, colon);
        authority.remove_prefix(colon);
    }
    if (!authority.empty()) {
        if (!authority.starts_with(':') || !is_port(authority.substr(1)))
            refuse(text, "expected a port from 1 to 65535");
        url.port = authority.substr(1);
    }
    if (url.host.empty() || !std::all_of(url.host.begin(), url.host.end(), is_host_character))
        refuse(text, "expected the name or address of a host");
    return url;
}

std::string Url::authority() const {
    const bool is_v6 = host.find(':') != std::string::npos;
    return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
}

std::string Url::to_string() const {
    return fmt::format("{}{}", is_secure ? "https://" : "http://", authority());
}

} // namespace rdmanet::base
