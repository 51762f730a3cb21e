// Proof that a network namespace is dead, and which boot the proof is about.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace rdmanet::kernel {

/// Network namespaces that a thread is in or a mount keeps.
struct LiveNetns {
    /// By inode number (NetnsId::inode), each with a path that leads to the namespace. A newer namespace may have an
    /// old number: compare netns_cookie().
    std::map<std::uint64_t, std::string> paths;
    /// Empty if no other namespace is alive. Otherwise the reason why one may be, for a person: the first process
    /// that could not be examined and whose namespace is none of these, with the error, or processes that /proc
    /// hides.
    std::string doubt{};
};

/// Reads /proc once. A namespace that is not in the answer is unused, as far as this process's /proc shows the
/// machine (proc_view.hpp). A namespace that only an open descriptor or a socket keeps is left out: no process is in
/// it. `proc` is where procfs is mounted. Throws base::SystemError.
[[nodiscard]] LiveNetns list_live_netns(const std::string& proc = "/proc");

/// Who keeps the namespace, as one of LiveNetns::paths shows.
struct NetnsHolder {
    std::int64_t pid = 0;      // the process that is in it, or that sees the mount
    std::string mount_point{}; // as that process sees it; empty if the process itself is in the namespace
};
[[nodiscard]] NetnsHolder parse_holder(std::string_view path, std::string_view proc = "/proc");

/// Random text that the kernel generates at each boot (random(4), boot_id), without a newline.
[[nodiscard]] std::string boot_id();

} // namespace rdmanet::kernel
