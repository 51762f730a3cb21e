// The result of an ADD, in the format of every version.
#pragma once

#include <rdmanet/base/dns.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/route.hpp>
#include <rdmanet/cni/version.hpp>
#include <rdmanet/json/reader.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::cni {

using base::Dns;
using base::Route;

struct Interface {
    std::string name;
    std::string mac;
    std::optional<std::uint32_t> mtu;
    std::string sandbox; // network namespace path; empty for an interface of the host
    std::string socket_path;
    std::string pci_id;
};

struct IpConfig {
    base::IpPrefix address;
    std::optional<base::IpAddress> gateway;
    std::optional<std::uint32_t> interface; // index into Result::interfaces
};

struct Result {
    std::vector<Interface> interfaces;
    std::vector<IpConfig> ips;
    std::vector<Route> routes;
    Dns dns;
};

/// The object under `reader`. A result without cniVersion has version `fallback`. Throws json::ValueError.
[[nodiscard]] Result parse_result(const json::Reader& reader, SpecVersion fallback);

/// {"nameservers", "domain", "search", "options"}
[[nodiscard]] Dns parse_dns(const json::Reader& reader);

/// The document, indented as the Go library prints it. Older formats lose what they have no place for: 0.3.x and
/// 0.4.0 an interface's mtu, socketPath and pciID; 0.1.0 and 0.2.0 all but the first address of each family.
[[nodiscard]] std::string format_result(const Result& result, SpecVersion version);

/// False for 0.1.0 and 0.2.0 without any address: these versions have no result without an address.
[[nodiscard]] constexpr bool can_be_expressed(SpecVersion version, bool has_address) {
    return has_address || version > SpecVersion::v0_2_0;
}

} // namespace rdmanet::cni
