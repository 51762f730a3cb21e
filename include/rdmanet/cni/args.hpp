// CNI_ARGS: "KEY=VALUE;KEY=VALUE".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::cni {

struct Args {
    std::string name = "CNI_ARGS"; // what messages call them
    std::string pod_namespace;     // K8S_POD_NAMESPACE
    std::string pod_name;          // K8S_POD_NAME
    std::string pod_uid;           // K8S_POD_UID
    std::string mac;               // MAC
    std::vector<std::string> ips;  // IP, a comma list (Multus sends one)
};

enum class Strictness : std::uint8_t {
    strict,
    lenient, // DEL and GC: skips what it cannot understand
};

/// Each part must hold exactly one '='. An unknown key is an error unless IgnoreUnknown is 1 or true, as in the Go
/// library. In a strict reading the text must be UTF-8. Messages call it `name`. Throws CniError (invalid environment).
[[nodiscard]] Args parse_args(std::string_view text, Strictness strictness, const std::string& name = Args().name);

} // namespace rdmanet::cni
