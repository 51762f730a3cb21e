#include <rdmanet/cni/request.hpp>

#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include <array>
#include <cerrno>
#include <utility>

namespace rdmanet::cni {
namespace {

using base::quoted;

constexpr std::array<std::pair<std::string_view, Command>, 6> kCommands = {{{"ADD", Command::add},
                                                                            {"DEL", Command::del},
                                                                            {"CHECK", Command::check},
                                                                            {"GC", Command::gc},
                                                                            {"STATUS", Command::status},
                                                                            {"VERSION", Command::version}}};
constexpr std::size_t kLargestConfiguration = std::size_t{16} << 20U;

[[noreturn]] void refuse(const std::string& message) {
    throw CniError(ErrorCode::invalid_environment, message);
}

std::string value_of(const Environment& environment, const char* name) {
    const char* value = environment(name);
    return value == nullptr ? "" : value;
}

bool is_about_a_container(Command command) {
    return command == Command::add || command == Command::check || command == Command::del;
}

void require_version(Command command, SpecVersion version) {
    const bool too_old = (command == Command::check && version < SpecVersion::v0_4_0) ||
                         ((command == Command::gc || command == Command::status) && version < SpecVersion::v1_1_0);
    if (!too_old) return;
    throw CniError(
        ErrorCode::incompatible_version,
        fmt::format("config version does not allow {}: cniVersion is {}, expected {} or later: set \"cniVersion\" "
                    "to that in the network",
                    command, to_string(version), command == Command::check ? "0.4.0" : "1.1.0"));
}

/// Only for ADD: nothing was ever stored under such names, so a DEL need not fail for them.
void require_storable(const Request& request) {
    const InputNames& names = request.names;
    for (const auto& [name, value] : {std::pair(names.netns, &request.netns_path), {names.path, &request.path_text}})
        if (!base::is_utf8(*value)) refuse(fmt::format("{}: expected UTF-8, found {}", name, quoted(*value)));
}

bool is_true(std::string_view flag) {
    return flag == "1" || base::equals_ignoring_case(flag, "true");
}

} // namespace

std::string_view to_string(Command command) {
    for (const auto& [name, value] : kCommands)
        if (value == command) return name;
    return "unknown";
}

Command parse_command(const Environment& environment) {
    const std::string text = value_of(environment, "CNI_COMMAND");
    if (text.empty()) refuse("required env variables [CNI_COMMAND] missing");
    for (const auto& [name, command] : kCommands)
        if (text == name) return command;
    refuse(fmt::format("unknown CNI_COMMAND: {}, expected ADD, DEL, CHECK, GC, STATUS or VERSION", quoted(text)));
}

void require_environment(Command command, const Environment& environment, const InputNames& names) {
    std::vector<std::string> missing;
    const auto require = [&](const char* variable, const std::string& name) {
        if (value_of(environment, variable).empty()) missing.push_back(name);
    };
    if (is_about_a_container(command)) require("CNI_CONTAINERID", names.container_id);
    if (command == Command::add || command == Command::check) require("CNI_NETNS", names.netns);
    if (is_about_a_container(command)) require("CNI_IFNAME", names.ifname);
    if (!missing.empty())
        refuse(fmt::format("required env variables [{}] missing: a runtime sets them; to try a network by hand, run "
                           "`rdmanet plan FILE`",
                           base::join(missing, ",")));
    if (!is_about_a_container(command)) return;
    const std::string container = value_of(environment, "CNI_CONTAINERID");
    if (!is_identifier(container))
        refuse(fmt::format("invalid characters in containerID: {} must be {}, found {}", names.container_id,
                           kIdentifierRules, quoted(container)));
    const std::string ifname = value_of(environment, "CNI_IFNAME");
    if (!base::InterfaceName::parse(ifname))
        refuse(fmt::format("{}: expected an interface name ({}), found {}", names.ifname, base::InterfaceName::kRules,
                           quoted(ifname)));
}

std::string read_configuration(int fd, std::chrono::milliseconds patience) {
    try {
        return base::read_all(fd, kLargestConfiguration, "standard input", base::Deadline::in(patience));
    } catch (const base::TimeoutError&) {
        throw CniError(ErrorCode::io_failure, fmt::format("standard input: waited {} ms for the end of the network "
                                                          "configuration: the caller must close it after writing",
                                                          patience.count()));
    } catch (const base::SystemError& error) {
        throw CniError(ErrorCode::io_failure,
                       fmt::format("{}{}", error.what(),
                                   error.errno_value() == EFBIG ? ": shorten the network configuration" : ""));
    }
}

Request parse_request(Command command, const Environment& environment, std::string text, const InputNames& names) {
    require_environment(command, environment, names);
    const bool lenient = command == Command::del || command == Command::gc;
    const Strictness strictness = lenient ? Strictness::lenient : Strictness::strict;
    Request request{.command = command, .conf = parse_net_conf(text, strictness), .names = names};
    request.stdin_text = std::move(text);
    require_version(command, request.conf.version);
    request.args_text = value_of(environment, "CNI_ARGS");
    request.path_text = value_of(environment, "CNI_PATH");
    request.args = parse_args(request.args_text, strictness, names.args);
    request.netns_override = is_true(value_of(environment, "CNI_NETNS_OVERRIDE"));
    if (!is_about_a_container(command)) return request;
    request.container_id = value_of(environment, "CNI_CONTAINERID");
    request.pod_ifname = base::InterfaceName::parse(value_of(environment, "CNI_IFNAME"));
    request.netns_path = value_of(environment, "CNI_NETNS");
    if (command == Command::add) require_storable(request);
    return request;
}

} // namespace rdmanet::cni
