// One call of the plugin: environment and network configuration, checked before anything else happens.
#pragma once

#include <rdmanet/base/interface_name.hpp>
#include <rdmanet/cni/args.hpp>
#include <rdmanet/cni/net_conf.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::cni {

enum class Command : std::uint8_t { add, del, check, gc, status, version };
[[nodiscard]] std::string_view to_string(Command command);

/// getenv(), or a test's replacement. An empty value counts as absent.
using Environment = std::function<const char*(const char*)>;

/// What messages call the inputs of a call: the caller knows them by these names.
struct InputNames {
    std::string container_id = "CNI_CONTAINERID";
    std::string netns = "CNI_NETNS";
    std::string ifname = "CNI_IFNAME";
    std::string args = "CNI_ARGS";
    std::string path = "CNI_PATH";
};

struct Request {
    Command command;
    NetConf conf;
    std::string stdin_text;
    std::string container_id;                      // ADD, CHECK, DEL
    std::optional<base::InterfaceName> pod_ifname; // ADD, CHECK, DEL
    std::string netns_path;                        // ADD, CHECK; may be empty for DEL
    bool netns_override = false;                   // CNI_NETNS_OVERRIDE: the plugin's own namespace is allowed
    Args args;
    std::string args_text; // CNI_ARGS unchanged, for delegates
    std::string path_text; // CNI_PATH unchanged
    InputNames names;      // for messages

    /// Of ADD, CHECK and DEL.
    [[nodiscard]] const base::InterfaceName& ifname() const { return *pod_ifname; }
};

/// CNI_COMMAND. Throws CniError.
[[nodiscard]] Command parse_command(const Environment& environment);

/// Checks in the order of the Go library: environment, standard input, JSON, name, version. `text` is standard input.
/// `names` is what messages call the variables. Throws CniError, json::ParseError, json::ValueError.
[[nodiscard]] Request parse_request(Command command, const Environment& environment, std::string text,
                                    const InputNames& names = {});

/// How long a caller may take to write the network configuration. Callers write a few kilobytes at once.
inline constexpr std::chrono::seconds kInputPatience{10};
/// Reads `fd` to its end, at most 16 MiB. Throws CniError (I/O failure), also if the end does not come in time.
[[nodiscard]] std::string read_configuration(int fd, std::chrono::milliseconds patience = kInputPatience);

/// Checks only the variables, before standard input is read. Throws CniError, which names all missing variables.
void require_environment(Command command, const Environment& environment, const InputNames& names = {});

} // namespace rdmanet::cni
