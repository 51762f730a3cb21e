#include <rdmanet/kernel/proc_view.hpp>

#include "directory.hpp"
#include "namespace_link.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>

namespace rdmanet::kernel {
namespace {

constexpr std::uint64_t kInitial = 0xeffffffc; // PROC_PID_INIT_INO, include/linux/proc_ns.h
constexpr std::size_t kMostBytes = 65536;      // a process's "status" and "stat" have about 2000

/// In how many PID namespaces the caller has a number, from the procfs's namespace down to its own: NSpid in
/// proc_pid_status(5) (task_state(), fs/proc/array.c). 0 without that line.
std::size_t count_levels(std::string_view status) {
    constexpr std::string_view kKey = "\nNSpid:";
    const auto at = status.find(kKey);
    if (at == std::string_view::npos) return 0;
    const std::string_view line = status.substr(at + kKey.size(), status.find('\n', at + 1) - at - kKey.size());
    return static_cast<std::size_t>(std::count(line.begin(), line.end(), '\t'));
}

/// EPERM comes from the mount option hidepid (proc_pid_permission(), fs/proc/base.c), EACCES from a security module.
bool is_denied(const base::SystemError& error) {
    return error.errno_value() == EPERM || error.errno_value() == EACCES;
}

std::string read_if_shown(const std::string& path) try {
    return base::read_file_if_exists(path, kMostBytes).value_or(std::string());
} catch (const base::SystemError& error) {
    if (is_denied(error)) return {};
    throw;
}

/// Only who may trace a process may read its links to namespaces (proc_ns_readlink(), fs/proc/namespaces.c).
std::uint64_t read_link_if_allowed(const std::string& path) try {
    return parse_namespace(find_symlink(path).value_or(std::string()), "pid").value_or(0);
} catch (const base::SystemError& error) {
    if (is_denied(error)) return 0;
    throw;
}

/// The procfs belongs to the caller's own namespace, or else to the namespace of the procfs's first process. A procfs
/// shows only processes of its namespace and those below, so one that shows a process of the initial namespace is the
/// initial one's. That spares "status", for which the kernel collects a lot.
std::uint64_t read_pid_namespace(const std::string& proc) {
    const std::uint64_t own = read_link_if_allowed(fmt::format("{}/self/ns/pid", proc));
    if (own == kInitial) return own;
    const std::size_t levels = count_levels(read_if_shown(fmt::format("{}/self/status", proc)));
    if (levels == 0) return 0;
    return levels == 1 ? own : read_link_if_allowed(fmt::format("{}/1/ns/pid", proc));
}

/// Field 22 of proc_pid_stat(5), counted from the end of the name in parentheses, which may contain any character.
std::uint64_t read_start(const std::string& proc) {
    constexpr int kFieldsBefore = 19; // between the name and the start
    const std::string text = read_if_shown(fmt::format("{}/1/stat", proc));
    std::size_t at = text.rfind(')');
    if (at == std::string::npos) return 0;
    at = text.find(' ', at);
    for (int field = 0; field < kFieldsBefore && at != std::string::npos; ++field) at = text.find(' ', at + 1);
    if (at == std::string::npos) return 0;
    const std::string_view rest = std::string_view(text).substr(at + 1);
    return base::parse_integer<std::uint64_t>(rest.substr(0, rest.find(' '))).value_or(0);
}

} // namespace

bool ProcView::sees_all() const {
    return pid_namespace == kInitial;
}

std::uint64_t ProcView::id() const {
    constexpr unsigned kInodeBits = 32; // ns_common::inum is an unsigned int
    if (sees_all()) return pid_namespace;
    return pid_namespace == 0 || began == 0 ? 0 : began << kInodeBits | pid_namespace;
}

ProcView read_proc_view(const std::string& proc) {
    ProcView view{.pid_namespace = read_pid_namespace(proc)};
    if (!view.sees_all()) view.began = read_start(proc);
    return view;
}

} // namespace rdmanet::kernel
