// Results, as prevResult and as other plugins print them. A result that is written in any version's shape and read
// again only loses what that version cannot express.
#include "refusal.hpp"

#include <rdmanet/cni/result.hpp>

#include <algorithm>
#include <tuple>

using namespace rdmanet;
using namespace rdmanet::fuzz;
using cni::SpecVersion;

namespace {

auto members(const cni::Interface& interface) {
    return std::tie(interface.name, interface.mac, interface.mtu, interface.sandbox, interface.socket_path,
                    interface.pci_id);
}
auto members(const cni::IpConfig& ip) {
    return std::tie(ip.address, ip.gateway, ip.interface);
}
auto members(const cni::Route& route) {
    return std::tie(route.destination, route.gateway, route.mtu, route.advmss, route.priority, route.table,
                    route.scope);
}
auto members(const cni::Dns& dns) {
    return std::tie(dns.nameservers, dns.domain, dns.search, dns.options);
}

template <class T>
bool are_same(const std::vector<T>& some, const std::vector<T>& others) {
    return std::equal(some.begin(), some.end(), others.begin(), others.end(),
                      [](const T& one, const T& other) { return members(one) == members(other); });
}
bool are_same(const cni::Result& one, const cni::Result& other) {
    return are_same(one.interfaces, other.interfaces) && are_same(one.ips, other.ips) &&
           are_same(one.routes, other.routes) && members(one.dns) == members(other.dns);
}

/// 0.1.0 and 0.2.0 have one address for each family, with the family's routes.
void append_family(cni::Result& to, const cni::Result& from, base::Family family) {
    const auto ip = std::find_if(from.ips.begin(), from.ips.end(),
                                 [&](const cni::IpConfig& candidate) { return candidate.address.family() == family; });
    if (ip == from.ips.end()) return;
    to.ips.push_back({.address = ip->address, .gateway = ip->gateway, .interface = {}});
    for (const cni::Route& route : from.routes)
        if (route.destination.family() == family)
            to.routes.push_back({.destination = route.destination, .gateway = route.gateway});
}

cni::Result as_kept_by(SpecVersion version, const cni::Result& result) {
    if (version >= SpecVersion::v1_0_0) return result;
    cni::Result kept{.dns = result.dns};
    if (version <= SpecVersion::v0_2_0) {
        append_family(kept, result, base::Family::v4);
        append_family(kept, result, base::Family::v6);
        return kept;
    }
    kept = result;
    for (cni::Interface& interface : kept.interfaces)
        interface = {.name = interface.name, .mac = interface.mac, .sandbox = interface.sandbox};
    return kept;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const auto result = unless_refused([&] {
        const json::Document document = json::Document::parse(as_text(data, size));
        return cni::parse_result(document.root(), SpecVersion::v1_1_0);
    });
    if (!result) return 0;
    for (std::size_t at = 0; at < cni::kVersionTexts.size(); ++at) {
        const auto version = static_cast<SpecVersion>(at);
        const std::string text = cni::format_result(*result, version);
        const json::Document written = json::Document::parse(text);
        demand(written.root().at("cniVersion").string() == to_string(version), "written for another version");
        // The result's own version counts, whatever the reader expects.
        const cni::Result read = cni::parse_result(written.root(), SpecVersion::v0_1_0);
        demand(are_same(read, as_kept_by(version, *result)), "lost or changed in " + std::string(to_string(version)));
    }
    return 0;
}
