#include "range_config.hpp"

#include "address_text.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <string_view>
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
    const auto member = find_text(element, key);
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
    RangeText range = dash != std::string::npos ? parse_first_to_last(at, text, dash)
                                                : RangeText{.subnet = prefix_in(at, text), .first = {}, .last = {}};
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

} // namespace

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
