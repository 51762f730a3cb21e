#include "plugin.hpp"

#include <rdmanet/attach/operations.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/rollback.hpp>
#include <rdmanet/cni/delegate.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/cni/version_output.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/state/state_directory.hpp>

#include <fcntl.h>

#include <chrono>
#include <cstdlib>
#include <new>
#include <string_view>

namespace rdmanet::cmd {
namespace {

using cni::Command;
using cni::ErrorCode;

constexpr int kFailure = 1; // the only exit status but 0 that callers know (cni, pkg/skel)

/// The document if there is no memory to write a better one.
constexpr std::string_view kOutOfMemory =
    "{\"cniVersion\":\"1.1.0\",\"code\":999,\"msg\":\"out of memory: raise the memory limit of the caller\"}\n";

/// The document if the process cannot continue: it is in the pod's network namespace and cannot return to its own
/// (NetnsScope). The journal has what DEL needs.
constexpr std::string_view kTerminated = "{\"cniVersion\":\"1.1.0\",\"code\":999,\"msg\":\"stopped half way: the "
                                         "kernel did not let the plugin return to its own "
                                         "network namespace; DEL removes what was made\"}\n";

[[noreturn]] void end_with_document() noexcept {
    (void)!::write(STDOUT_FILENO, kTerminated.data(), kTerminated.size());
    ::_exit(kFailure);
}

void print(std::string_view text) {
    base::write_all(STDOUT_FILENO, text, "standard output");
}

base::Logger open_log(const cni::NetConf& conf) {
    const config::LogTarget target = config::parse_log_target(conf);
    if (!target.file) return base::Logger(target.level);
    try {
        return base::Logger::to_file(config::kLogDirectory, *target.file, target.level);
    } catch (const base::Error& error) {
        throw json::ValueError("logFile", error.what());
    }
}

/// DEL and GC must work with a configuration that was edited into something wrong, so they ignore wrong log settings.
base::Logger open_log_leniently(const cni::NetConf& conf) {
    try {
        return open_log(conf);
    } catch (const base::Error& error) {
        base::Logger log(base::LogLevel::warning);
        log.warn(cni::text_of_del(error.what()));
        return log;
    }
}

bool must_not_fail_for_configuration(Command command) {
    return command == Command::del || command == Command::gc;
}

attach::Node make_node(const cni::Request& request) {
    const bool lenient = must_not_fail_for_configuration(request.command);
    const std::string directory = state_directory();
    if (!directory.starts_with('/')) // another one wherever a runtime starts us
        throw cni::CniError(ErrorCode::invalid_environment,
                            fmt::format("RDMANET_STATE_DIR is \"{}\", expected an absolute path", directory));
    attach::Node node(directory, lenient ? open_log_leniently(request.conf) : open_log(request.conf));
    node.strict = node_is_strict();
    // libcni takes standard error for the message of a plugin that dies without a result (invoke.go, pluginErr).
    if (request.command == Command::del) node.log.set_rewrite(cni::text_of_del);
    return node;
}

/// Refuses an ADD whose result nobody can read, because it would have to be undone at once.
void require_standard_output() {
    const int flags = ::fcntl(STDOUT_FILENO, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
        throw cni::CniError(ErrorCode::io_failure, "standard output is closed: a CNI plugin writes its result there");
}

/// Prints the result of an ADD. If that fails, the caller has no attachment, and the ADD is undone.
void deliver(const cni::Result& result, const cni::Request& request, const attach::Node& node) {
    base::act_or_undo([&] { print(cni::format_result(result, request.conf.version)); },
                      [&] { attach::del(request, node); }, [&](const char* why) { node.log.error(why); });
}

void serve(const cni::Request& request, const attach::Node& node) {
    switch (request.command) {
    case Command::add: deliver(attach::add(request, read_config(request, node), node), request, node); return;
    case Command::del: attach::del(request, node); return;
    case Command::check: attach::check(request, read_config(request, node), node); return;
    case Command::gc: attach::collect_garbage(request, node); return;
    case Command::status: attach::status(request, read_config(request, node), node); return;
    case Command::version: return;
    }
}

void serve_as_ipam(const cni::Request& request, const attach::Node& node) {
    using namespace attach;
    switch (request.command) {
    case Command::add: deliver(ipam_only::add(request, node), request, node); return;
    case Command::del: attach::del(request, node); return;
    case Command::check: ipam_only::check(request, node); return;
    case Command::gc: ipam_only::collect_garbage(request, node); return;
    case Command::status: ipam_only::status(request, node); return;
    case Command::version: return;
    }
}

/// For a call of rdmanet by rdmanet. The caller holds the attachment's lock, so this call would wait for it in vain.
/// Such a call never got far enough to hold anything, so there is nothing to release.
void serve_itself(Command command) {
    if (!must_not_fail_for_configuration(command))
        throw cni::CniError(ErrorCode::delegate,
                            "this plugin is its own IPAM plugin: correct \"ipam.type\", the built-in "
                            "allocator is called \"rdmanet\"");
}

/// Logs one line for each call.
void log_outcome(const cni::Request& request, const attach::Node& node, std::chrono::steady_clock::time_point began,
                 std::string_view outcome, base::LogLevel level) noexcept {
    try {
        const auto took =
            std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - began);
        const std::string ifname = request.pod_ifname ? request.pod_ifname->to_string() : "";
        node.log.log(level,
                     fmt::format("{} network={} container={} ifname={} took={}us {}", cni::to_string(request.command),
                                 request.conf.name, request.container_id, ifname, took.count(), outcome));
    } catch (const std::exception&) { // a printed result must not be followed by an error
    }
}

void handle(const cni::Request& request) {
    const auto began = std::chrono::steady_clock::now();
    const attach::Node node = make_node(request);
    for (const std::string& warning : request.conf.warnings) node.log.warn(warning);
    try {
        if (config::is_ipam_only(request.conf))
            serve_as_ipam(request, node);
        else if (cni::is_own_delegate())
            serve_itself(request.command);
        else
            serve(request, node);
    } catch (const std::exception& error) {
        log_outcome(request, node, began, fmt::format("failed: {}", error.what()), base::LogLevel::info);
        throw;
    }
    log_outcome(request, node, began, "ok", base::LogLevel::info);
}

} // namespace

int code_of(const std::exception& error) {
    const auto is = [&]<class Type>(const Type*) { return dynamic_cast<const Type*>(&error) != nullptr; };
    if (const auto* cni_error = dynamic_cast<const cni::CniError*>(&error)) return cni_error->code();
    if (is(static_cast<const json::ParseError*>(nullptr))) return static_cast<int>(ErrorCode::undecodable);
    if (is(static_cast<const json::ValueError*>(nullptr))) return static_cast<int>(ErrorCode::invalid_network_config);
    if (is(static_cast<const base::TimeoutError*>(nullptr))) return static_cast<int>(ErrorCode::try_again_later);
    if (const auto* store = dynamic_cast<const ipam::StoreError*>(&error))
        return static_cast<int>(store->temporary() ? ErrorCode::try_again_later : ErrorCode::state);
    if (is(static_cast<const state::DirectoryError*>(nullptr))) return static_cast<int>(ErrorCode::state);
    if (is(static_cast<const ipam::ExhaustedError*>(nullptr))) return static_cast<int>(ErrorCode::addresses_exhausted);
    if (is(static_cast<const ipam::RequestedAddressTaken*>(nullptr))) return static_cast<int>(ErrorCode::address_taken);
    if (is(static_cast<const ipam::RequestedAddressInvalid*>(nullptr)))
        return static_cast<int>(ErrorCode::invalid_network_config);
    if (const auto* refused = dynamic_cast<const base::SystemError*>(&error))
        return static_cast<int>(base::is_shortage(refused->errno_value()) ? ErrorCode::try_again_later
                                                                          : ErrorCode::kernel_refused);
    return static_cast<int>(ErrorCode::internal);
}

namespace {

/// What to do about an error whose message cannot say it, because that depends on the command.
std::string fix_for(const std::exception& error, std::string_view command) {
    if (dynamic_cast<const base::LockTimeout*>(&error) == nullptr) return {};
    if (command == "DEL")
        return ": see what that process waits for; if no other DEL comes, run `rdmanet gc` on the node";
    return fmt::format(": wait for the next {}; if it fails again, see what that process waits for", command);
}

std::string error_document(const std::exception& error, std::string_view cni_version, std::string_view command) {
    const bool of_del = command == "DEL";
    std::string message = error.what() + fix_for(error, command);
    const auto* cni_error = dynamic_cast<const cni::CniError*>(&error);
    std::string details = cni_error != nullptr ? cni_error->details() : "";
    if (of_del) {
        message = cni::text_of_del(message);
        details = cni::text_of_del(details); // go-cni reads the words in the details, too
    }
    return cni::format_error(cni_version, code_of(error), message, details);
}

int fail(const std::exception& error, std::string_view cni_version) {
    const char* command = std::getenv("CNI_COMMAND");
    const std::string document = error_document(error, cni_version, command != nullptr ? command : "");
    try {
        print(document);
    } catch (const base::Error&) { // callers read standard error if standard output is empty
        (void)!::write(STDERR_FILENO, document.data(), document.size());
    }
    return kFailure;
}

int run() {
    std::string configuration;
    try {
        const Command command = cni::parse_command(std::getenv);
        if (command == Command::version) {
            print(cni::version_output());
            return 0;
        }
        if (command == Command::add) require_standard_output();
        cni::require_environment(command, std::getenv);
        configuration = cni::read_configuration(STDIN_FILENO);
        handle(cni::parse_request(command, std::getenv, configuration));
        return 0;
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& error) {
        return fail(error, cni::version_for_errors(configuration));
    }
}

} // namespace

std::string state_directory() {
    const char* chosen = std::getenv("RDMANET_STATE_DIR");
    return chosen != nullptr && *chosen != '\0' ? chosen : attach::kDefaultStateDirectory;
}

bool node_is_strict() {
    const char* strict = std::getenv("RDMANET_STRICT");
    return strict != nullptr && *strict != '\0' && std::string_view(strict) != "0";
}

config::Config read_config(const cni::Request& request, const attach::Node& node) {
    config::Config config = config::parse_config(request.conf);
    const bool may_be_wrong = request.command == Command::check;
    if (!may_be_wrong) config::require_useful_keys(config.useless_keys, config.strict, node.strict);
    for (const std::string& warning : config.warnings) node.log.warn(warning);
    if (!may_be_wrong) config::require_sound(config.ipam);
    return config;
}

int run_plugin() noexcept {
    std::set_terminate(end_with_document);
    try {
        return run();
    } catch (const std::bad_alloc&) {
        (void)!::write(STDOUT_FILENO, kOutOfMemory.data(), kOutOfMemory.size());
    } catch (...) { // standard output cannot be written: the error cannot be reported
    }
    return kFailure;
}

} // namespace rdmanet::cmd
