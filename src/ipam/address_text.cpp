#include "address_text.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

namespace rdmanet::ipam {
namespace {

using base::quoted;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// True if a part of a dotted quad in `text` begins with a needless zero: some programs read it as decimal, others as
/// octal.
bool has_leading_zero(std::string_view text) {
    if (text.find(':') != std::string_view::npos) return false;
    for (std::size_t at = 0; at + 1 < text.size() && text[at] != '/'; ++at)
        if (text[at] == '0' && is_digit(text[at + 1]) && (at == 0 || !is_digit(text[at - 1]))) return true;
    return false;
}

// RFC 1122, section 3.2.1.3 (0/8, 127/8, 255.255.255.255), RFC 5771 (224/4); RFC 4291, sections 2.5.2, 2.5.3 and 2.7.
constexpr std::string_view kNotAssignable[] = {"0.0.0.0/8",          "127.0.0.0/8", "224.0.0.0/4",
                                               "255.255.255.255/32", "::/127",      "ff00::/8"};

json::ValueError not_an(std::string_view expected, const json::Reader& at, std::string_view text) {
    if (has_leading_zero(text))
        return {at.path(), fmt::format("expected {}, found {}: leading zeros are refused, because some programs read "
                                       "them as octal; write the numbers without them",
                                       expected, quoted(text))};
    return {at.path(), fmt::format("expected {}, found {}", expected, quoted(text))};
}

} // namespace

std::optional<json::Reader> find_text(const json::Reader& object, std::string_view key) {
    auto member = object.find(key);
    if (member && member->string().empty()) return std::nullopt;
    return member;
}

base::IpAddress address_in(const json::Reader& at, std::string_view text) {
    const auto address = base::IpAddress::parse(text);
    if (!address) throw not_an("an IP address", at, text);
    return *address;
}

base::IpPrefix prefix_in(const json::Reader& at, std::string_view text) {
    const auto prefix = base::IpPrefix::parse(text);
    if (!prefix) throw not_an("an address with prefix length, like \"10.1.2.0/24\"", at, text);
    return *prefix;
}

std::optional<base::IpAddress> find_address(const json::Reader& object, std::string_view key) {
    const auto member = find_text(object, key);
    if (!member) return std::nullopt;
    return address_in(*member, member->string());
}

void expect_family_of(const base::IpPrefix& other, const base::IpAddress& address, const json::Reader& at) {
    if (address.family() == other.family()) return;
    throw json::ValueError(
        at.path(), fmt::format("expected an {} address, as in {}, found {}", name_of(other.family()), other, address));
}

void expect_assignable(const base::IpAddress& first, const base::IpAddress& last, const json::Reader& at) {
    for (const std::string_view text : kNotAssignable) {
        const base::IpPrefix prefix = *base::IpPrefix::parse(text);
        const bool overlap = prefix.family() == first.family() && prefix.network().value() <= last.value() &&
                             first.value() <= prefix.last().value();
        if (overlap) throw at.unexpected(fmt::format("addresses that an interface can have, none of {}", text));
    }
}

std::string_view name_of(base::Family family) {
    return family == base::Family::v4 ? "IPv4" : "IPv6";
}

} // namespace rdmanet::ipam
