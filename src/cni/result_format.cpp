#include <rdmanet/cni/result.hpp>

#include <rdmanet/json/writer.hpp>

#include <algorithm>

namespace rdmanet::cni {
namespace {

using json::Writer;

void text_unless_empty(Writer& writer, std::string_view key, const std::string& text) {
    if (!text.empty()) writer.member(key, text);
}

template <class T>
void number_if_set(Writer& writer, std::string_view key, const std::optional<T>& number) {
    if (number) writer.member(key, std::uint64_t{*number});
}

void texts_unless_empty(Writer& writer, std::string_view key, const std::vector<std::string>& texts) {
    if (texts.empty()) return;
    writer.key(key).begin_array();
    for (const std::string& text : texts) writer.value(text);
    writer.end_array();
}

void write_interface(Writer& writer, const Interface& interface, SpecVersion version) {
    const bool extended = version >= SpecVersion::v1_0_0;
    writer.begin_object().member("name", interface.name);
    text_unless_empty(writer, "mac", interface.mac);
    if (extended) number_if_set(writer, "mtu", interface.mtu);
    text_unless_empty(writer, "sandbox", interface.sandbox);
    if (extended) text_unless_empty(writer, "socketPath", interface.socket_path);
    if (extended) text_unless_empty(writer, "pciID", interface.pci_id);
    writer.end_object();
}

void write_ip(Writer& writer, const IpConfig& ip, SpecVersion version) {
    writer.begin_object();
    if (version < SpecVersion::v1_0_0) writer.member("version", ip.address.address().is_v4() ? "4" : "6");
    number_if_set(writer, "interface", ip.interface);
    writer.member("address", ip.address.to_string());
    if (ip.gateway) writer.member("gateway", ip.gateway->to_string());
    writer.end_object();
}

enum class RouteFields : std::uint8_t { plain, extended };

void write_route(Writer& writer, const Route& route, RouteFields fields) {
    writer.begin_object().member("dst", route.destination.to_string());
    if (route.gateway) writer.member("gw", route.gateway->to_string());
    if (fields == RouteFields::extended) {
        number_if_set(writer, "mtu", route.mtu);
        number_if_set(writer, "advmss", route.advmss);
        number_if_set(writer, "priority", route.priority);
        number_if_set(writer, "table", route.table);
        number_if_set(writer, "scope", route.scope);
    }
    writer.end_object();
}

template <class List, class Write>
void list_unless_empty(Writer& writer, std::string_view key, const List& list, Write write) {
    if (list.empty()) return;
    writer.key(key).begin_array();
    for (const auto& element : list) write(element);
    writer.end_array();
}

/// 0.1.0 and 0.2.0: the first address of the family, and the family's routes.
void write_family(Writer& writer, std::string_view key, const Result& result, base::Family family) {
    const auto is_family = [&](const IpConfig& ip) { return ip.address.family() == family; };
    const auto ip = std::ranges::find_if(result.ips, is_family);
    if (ip == result.ips.end()) return;
    std::vector<Route> routes;
    std::ranges::copy_if(result.routes, std::back_inserter(routes),
                         [&](const Route& route) { return route.destination.family() == family; });
    writer.key(key).begin_object().member("ip", ip->address.to_string());
    if (ip->gateway) writer.member("gateway", ip->gateway->to_string());
    list_unless_empty(writer, "routes", routes,
                      [&](const Route& route) { write_route(writer, route, RouteFields::plain); });
    writer.end_object();
}

void write_dns(Writer& writer, const Dns& dns) {
    writer.key("dns").begin_object();
    texts_unless_empty(writer, "nameservers", dns.nameservers);
    text_unless_empty(writer, "domain", dns.domain);
    texts_unless_empty(writer, "search", dns.search);
    texts_unless_empty(writer, "options", dns.options);
    writer.end_object();
}

} // namespace

std::string format_result(const Result& result, SpecVersion version) {
    Writer writer(json::Layout::indented);
    writer.begin_object().member("cniVersion", to_string(version));
    if (version <= SpecVersion::v0_2_0) {
        write_family(writer, "ip4", result, base::Family::v4);
        write_family(writer, "ip6", result, base::Family::v6);
    } else {
        list_unless_empty(writer, "interfaces", result.interfaces,
                          [&](const Interface& interface) { write_interface(writer, interface, version); });
        list_unless_empty(writer, "ips", result.ips, [&](const IpConfig& ip) { write_ip(writer, ip, version); });
        list_unless_empty(writer, "routes", result.routes,
                          [&](const Route& route) { write_route(writer, route, RouteFields::extended); });
    }
    if (version < SpecVersion::v1_0_0 || !result.dns.empty()) write_dns(writer, result.dns);
    return writer.end_object().to_text() + '\n';
}

} // namespace rdmanet::cni
