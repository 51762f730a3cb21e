#include <rdmanet/kernel/proc_view.hpp>

#include "namespace_link.hpp"

#include <rdmanet/base/directory.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/process.hpp>

#include <cerrno>
#include <optional>
#include <string_view>

namespace rdmanet::kernel {
namespace {

constexpr std::uint64_t kInitial = 0xeffffffc; // PROC_PID_INIT_INO, include/linux/proc_ns.h
constexpr std::size_t kMostBytes = 65536;      // a process's "status" and "stat" have about 2000

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
    return parse_namespace(base::find_symlink(path).value_or(std::string()), "pid").value_or(0);
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
    const std::string status = read_if_shown(fmt::format("{}/self/status", proc));
    const std::string_view numbers = base::find_status(status, base::kNumbersOfProcess);
    if (numbers.empty()) return 0;
    const bool has_one = numbers.find('\t') == std::string_view::npos;
    return has_one ? own : read_link_if_allowed(fmt::format("{}/1/ns/pid", proc));
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
    if (!view.sees_all())
        view.began = base::parse_start_ticks(read_if_shown(fmt::format("{}/1/stat", proc))).value_or(0);
    return view;
}

} // namespace rdmanet::kernel
