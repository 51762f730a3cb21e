#include "address_text.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <utility>

namespace rdmanet::ipam {
namespace {

using base::IpAddress;
using base::IpPrefix;
using base::quoted;

struct Bound {
    IpAddress address;
    json::Reader at;
};
struct RangeText {
    IpPrefix subnet;
    std::optional<Bound> first;
    std::optional<Bound> last;
};

std::optional<Bound> find_bound(const json::Reader& element, std::string_view key) {
    const auto member = element.find_filled(key);
    if (!member) return std::nullopt;
    return Bound{.address = address_in(*member, member->string()), .at = *member};
}

/// "FIRST-LAST/LENGTH": LAST/LENGTH is the subnet.
RangeText parse_first_to_last(const json::Reader& at, const std::string& text, std::size_t dash) {
    const IpAddress first = address_in(at, std::string_view(text).substr(0, dash));
    const IpPrefix last = prefix_in(at, std::string_view(text).substr(dash + 1));
    expect_family_of(last, first, at);
    if (!last.contains(first))
        throw json::ValueError(
            at.path(),
            fmt::format("first address {} is not in {}, the subnet of the last one; expected FIRST-LAST/LENGTH", first,
                        *IpPrefix::make(last.network(), last.length())));
    return {.subnet = last, .first = Bound{first, at}, .last = Bound{last.address(), at}};
}

RangeText parse_range_text(const json::Reader& element, std::vector<std::string>& warnings) {
    const json::Reader at = element.at("range");
    const std::string text = at.string();
    const auto dash = text.find('-');
    RangeText range =
        dash != std::string::npos ? parse_first_to_last(at, text, dash) : RangeText{.subnet = prefix_in(at, text)};
    if (dash == std::string::npos && range.subnet.has_host_bits())
        warnings.push_back(fmt::format(
            "{}: {} has host bits, which are ignored: the range is {}; set \"range_start\" to choose the first address",
            at.path(), range.subnet, *IpPrefix::make(range.subnet.network(), range.subnet.length())));
    for (const auto& [key, bound] : {std::pair("range_start", &range.first), std::pair("range_end", &range.last)}) {
        auto given = find_bound(element, key);
        if (given && dash != std::string::npos)
            warnings.push_back(
                fmt::format("{}: ignored, because range {} already sets it", given->at.path(), quoted(text)));
        else if (given)
            *bound = std::move(given);
    }
    return range;
}

Interval usable_bounds(const IpPrefix& subnet, Edges edges, const json::Reader& at) {
    if (edges == Edges::kept_free && subnet.length() + 2 > base::address_bits(subnet.family()))
        throw json::ValueError(at.path(),
                               fmt::format("{} is too small, because its first and last address are reserved: enlarge "
                                           "it, or set \"enable_l3\": true to lease these two as well",
                                           subnet));
    return bounds_of(subnet, edges);
}

/// The address, if it limits `usable`. The first or last address of the subnet changes nothing. whereabouts also
/// ignores an address outside the subnet, and then uses the whole range, of which another node may have the other
/// part.
std::optional<base::Uint128> limit(const std::optional<Bound>& bound, const IpPrefix& subnet, const Interval& usable,
                                   Remarks& remarks) {
    if (!bound) return std::nullopt;
    expect_family_of(subnet, bound->address, bound->at);
    if (usable.contains(bound->address.value())) return bound->address.value();
    if (!subnet.contains(bound->address)) {
        const auto whole = *IpPrefix::make(subnet.network(), subnet.length());
        if (!remarks.fault) remarks.fault = bound->at.unexpected(fmt::format("an address in {}", whole));
        return std::nullopt;
    }
    remarks.warnings.push_back(fmt::format(
        "{}: {} is ignored, because it is outside {} to {}, the usable addresses of the range", bound->at.path(),
        bound->address, IpAddress(subnet.family(), usable.first), IpAddress(subnet.family(), usable.last)));
    return std::nullopt;
}

IpPrefix single(const IpAddress& address) {
    return *IpPrefix::make(address, base::address_bits(address.family()));
}

Interval parse_exclude(const json::Reader& at, const Range& range, std::vector<std::string>& warnings) {
    const std::string text = at.string();
    const bool bare = text.find('/') == std::string::npos;
    const IpPrefix prefix = bare ? single(address_in(at, text)) : prefix_in(at, text);
    expect_family_of(range.subnet(), prefix.address(), at);
    const Interval hole{prefix.network().value(), prefix.last().value()};
    if (prefix.has_host_bits())
        warnings.push_back(fmt::format("{}: {} has host bits, which are ignored: all of {} to {} is excluded",
                                       at.path(), prefix, prefix.network(), prefix.last()));
    if (hole.last < range.bounds().first || hole.first > range.bounds().last)
        warnings.push_back(
            fmt::format("{}: {} is outside the range {} and excludes nothing", at.path(), prefix, range));
    return hole;
}

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
    const auto member = object.find_filled(key);
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

Range parse_range(const json::Reader& element, Edges edges, Remarks& remarks) {
    const RangeText text = parse_range_text(element, remarks.warnings);
    Interval bounds = usable_bounds(text.subnet, edges, element.at("range"));
    const auto first = limit(text.first, text.subnet, bounds, remarks);
    const auto last = limit(text.last, text.subnet, bounds, remarks);
    if (first && last && *first > *last)
        throw json::ValueError(
            text.last->at.path(),
            fmt::format("the range ends at {} before it starts at {}; expected an end that is not below the start",
                        text.last->address, text.first->address));
    if (first) bounds.first = *first;
    if (last) bounds.last = *last;
    const base::Family family = text.subnet.family();
    expect_assignable({family, bounds.first}, {family, bounds.last}, element.at("range"));

    Range range(text.subnet, bounds);
    const auto exclude = element.find("exclude");
    if (!exclude) return range;
    std::vector<Interval> holes;
    for (const json::Reader& at : exclude->elements()) holes.push_back(parse_exclude(at, range, remarks.warnings));
    range.remove(std::move(holes));
    return range;
}

} // namespace rdmanet::ipam
