// The network configuration on standard input: the part that belongs to the protocol. Other modules read their keys
// from `document`.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/mac_address.hpp>
#include <rdmanet/cni/args.hpp>
#include <rdmanet/cni/result.hpp>
#include <rdmanet/cni/version.hpp>
#include <rdmanet/json/reader.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::cni {

// Character rules of container IDs and network names (CNI specification, section 2).
inline constexpr std::string_view kIdentifierRules =
    "letters, digits, '_', '.' and '-', beginning with a letter or digit";
[[nodiscard]] bool is_identifier(std::string_view text);

/// An entry of GC's list of attachments that are still valid.
struct ValidAttachment {
    std::string container_id;
    std::string ifname;
};

struct NetConf {
    json::Document document;
    SpecVersion version = SpecVersion::v0_1_0;
    std::string name;
    std::string type;
    std::optional<std::string> ipam_type; // absent without "ipam", and if "ipam" or its type is empty
    Dns dns;
    std::optional<Result> prev_result;
    /// Absent if the caller sent no list. JSON null is an empty list: no attachment is valid.
    std::optional<std::vector<ValidAttachment>> valid_attachments;
    std::vector<std::string> warnings;
};

/// Throws json::ParseError, CniError (incompatible version, invalid name), json::ValueError. A lenient reading, for
/// DEL and GC, only needs name and version. It turns everything else that it cannot understand into warnings.
[[nodiscard]] NetConf parse_net_conf(std::string_view text, Strictness strictness);

/// The cniVersion for the error document of a configuration that is refused: the configuration's own, or the newest
/// one if it is absent or unknown.
[[nodiscard]] std::string version_for_errors(std::string_view text);

struct RequestedMac {
    base::MacAddress mac;
    std::string source; // "runtimeConfig.mac"
};
struct RequestedIp {
    base::IpAddress address;
    std::optional<unsigned> prefix_length;
    std::string source;
};

/// What the pod asked for, from the newest mechanism that has it (CONVENTIONS.md): runtimeConfig, args.cni, CNI_ARGS.
/// Throws json::ValueError or CniError, which name the source.
[[nodiscard]] std::optional<RequestedMac> requested_mac(const NetConf& conf, const Args& args);
[[nodiscard]] std::vector<RequestedIp> requested_ips(const NetConf& conf, const Args& args);

} // namespace rdmanet::cni
