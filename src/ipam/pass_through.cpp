#include "pass_through.hpp"

#include "address_text.hpp"

#include <rdmanet/base/format.hpp>

#include <limits>

namespace rdmanet::ipam {
namespace {

template <class T>
std::optional<T> find_number(const json::Reader& object, std::string_view key) {
    const auto member = object.find(key);
    if (!member) return std::nullopt;
    return static_cast<T>(member->integer(0, std::numeric_limits<T>::max()));
}

std::string string_or_empty(const json::Reader& object, std::string_view key) {
    const auto member = object.find(key);
    return member ? member->string() : std::string();
}

std::vector<std::string> strings(const json::Reader& object, std::string_view key) {
    std::vector<std::string> texts;
    if (const auto member = object.find(key))
        for (const json::Reader& element : member->elements()) texts.push_back(element.string());
    return texts;
}

base::Route parse_route(const json::Reader& route, std::vector<std::string>& warnings) {
    const json::Reader dst = route.at("dst");
    const base::IpPrefix destination = prefix_in(dst, dst.string());
    if (destination.has_host_bits())
        warnings.push_back(fmt::format("{}: {} has host bits, which a route ignores", dst.path(), destination));
    const auto gateway = find_address(route, "gw");
    if (gateway) expect_family_of(destination, *gateway, route.at("gw"));
    return {.destination = destination,
            .gateway = gateway,
            .mtu = find_number<std::uint32_t>(route, "mtu"),
            .advmss = find_number<std::uint32_t>(route, "advmss"),
            .priority = find_number<std::uint32_t>(route, "priority"),
            .table = find_number<std::uint32_t>(route, "table"),
            .scope = find_number<std::uint8_t>(route, "scope")};
}

} // namespace

std::vector<base::Route> parse_routes(const json::Reader& ipam, std::vector<std::string>& warnings) {
    std::vector<base::Route> routes;
    if (const auto member = ipam.find("routes"))
        for (const json::Reader& route : member->elements()) routes.push_back(parse_route(route, warnings));
    return routes;
}

base::Dns parse_dns(const json::Reader& ipam) {
    const auto dns = ipam.find("dns");
    if (!dns) return {};
    return {.nameservers = strings(*dns, "nameservers"),
            .domain = string_or_empty(*dns, "domain"),
            .search = strings(*dns, "search"),
            .options = strings(*dns, "options")};
}

} // namespace rdmanet::ipam
