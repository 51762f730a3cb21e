#include <rdmanet/cni/result.hpp>

namespace rdmanet::cni {
namespace {

using json::Reader;

std::string text_or_empty(const Reader& object, std::string_view key) {
    const auto member = object.find(key);
    return member ? member->string() : std::string();
}

std::vector<std::string> texts(const Reader& object, std::string_view key) {
    std::vector<std::string> list;
    if (const auto member = object.find(key))
        for (const Reader& element : member->elements()) list.push_back(element.string());
    return list;
}

std::optional<std::uint32_t> number(const Reader& object, std::string_view key) {
    const auto member = object.find(key);
    if (!member) return std::nullopt;
    return static_cast<std::uint32_t>(member->integer(0, UINT32_MAX));
}

base::IpPrefix parse_prefix(const Reader& reader) {
    const auto prefix = base::IpPrefix::parse(reader.string());
    if (!prefix) throw reader.unexpected("an address with prefix length, like \"10.1.2.3/24\"");
    return *prefix;
}

/// Go's plugins write "" for an absent address.
std::optional<base::IpAddress> parse_optional_address(const Reader& object, std::string_view key) {
    const auto member = object.find(key);
    if (!member || member->string().empty()) return std::nullopt;
    const auto address = base::IpAddress::parse(member->string());
    if (!address) throw member->unexpected("an IP address");
    return address;
}

Interface parse_interface(const Reader& reader) {
    return {.name = text_or_empty(reader, "name"),
            .mac = text_or_empty(reader, "mac"),
            .mtu = number(reader, "mtu"),
            .sandbox = text_or_empty(reader, "sandbox"),
            .socket_path = text_or_empty(reader, "socketPath"),
            .pci_id = text_or_empty(reader, "pciID")};
}

Route parse_route(const Reader& reader) {
    Route route{.destination = parse_prefix(reader.at("dst")), .gateway = parse_optional_address(reader, "gw")};
    route.mtu = number(reader, "mtu");
    route.advmss = number(reader, "advmss");
    route.priority = number(reader, "priority");
    route.table = number(reader, "table");
    if (const auto scope = reader.find("scope")) route.scope = static_cast<std::uint8_t>(scope->integer(0, UINT8_MAX));
    return route;
}

void parse_routes(const Reader& object, Result& result) {
    if (const auto routes = object.find("routes"))
        for (const Reader& route : routes->elements()) result.routes.push_back(parse_route(route));
}

/// 0.1.0 and 0.2.0: "ip4" and "ip6", each with its own routes.
void parse_family(const Reader& root, std::string_view key, Result& result) {
    const auto family = root.find(key);
    if (!family) return;
    result.ips.push_back(
        {.address = parse_prefix(family->at("ip")), .gateway = parse_optional_address(*family, "gateway")});
    parse_routes(*family, result);
}

SpecVersion version_of(const Reader& root, SpecVersion fallback) {
    const auto member = root.find("cniVersion");
    if (!member || member->string().empty()) return fallback;
    const auto version = parse_version(member->string());
    if (!version) throw member->unexpected("one of " + supported_versions_text());
    return *version;
}

} // namespace

Dns parse_dns(const Reader& reader) {
    return {.nameservers = texts(reader, "nameservers"),
            .domain = text_or_empty(reader, "domain"),
            .search = texts(reader, "search"),
            .options = texts(reader, "options")};
}

Result parse_result(const Reader& reader, SpecVersion fallback) {
    reader.expect_object();
    Result result;
    if (version_of(reader, fallback) <= SpecVersion::v0_2_0) {
        parse_family(reader, "ip4", result);
        parse_family(reader, "ip6", result);
    } else {
        if (const auto interfaces = reader.find("interfaces"))
            for (const Reader& interface : interfaces->elements())
                result.interfaces.push_back(parse_interface(interface));
        if (const auto ips = reader.find("ips"))
            for (const Reader& ip : ips->elements())
                result.ips.push_back({.address = parse_prefix(ip.at("address")),
                                      .gateway = parse_optional_address(ip, "gateway"),
                                      .interface = number(ip, "interface")});
        parse_routes(reader, result);
    }
    if (const auto dns = reader.find("dns")) result.dns = parse_dns(*dns);
    return result;
}

} // namespace rdmanet::cni
