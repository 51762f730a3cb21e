// Proof that a network namespace is dead, and which boot the proof is about.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace rdmanet::kernel {

/// Network namespaces that some thread is in or some mount keeps.
struct LiveNetns {
    /// By inode number (NetnsId::inode), each with a path that leads to it. A number may have been given to a younger
    /// namespace: compare netns_cookie().
    std::map<std::uint64_t, std::string> paths;
    /// Empty if nothing else is alive. Otherwise why something may be, for a person: the first process whose namespace is
    /// none of these and could not be identified, with the error, or processes that /proc hides.
    std::string doubt{};
};

/// One reading of /proc. What is not in the answer is used by nobody, as far as this process's /proc shows the machine
/// (proc_view.hpp). A namespace that only an open
/// descriptor or a socket keeps is not seen; nothing lives in such a one. `proc` is where procfs is. Throws
/// base::SystemError.
[[nodiscard]] LiveNetns list_live_netns(const std::string& proc = "/proc");

/// What one of LiveNetns::paths says of who keeps the namespace.
struct NetnsHolder {
    std::int64_t pid = 0;      // the process that is in it, or that sees the mount
    std::string mount_point{}; // as that process sees it; empty if the process itself is in the namespace
};
[[nodiscard]] NetnsHolder parse_holder(std::string_view path, std::string_view proc = "/proc");

/// Random text that the kernel makes at each boot (random(4), boot_id), without a newline.
[[nodiscard]] std::string boot_id();

} // namespace rdmanet::kernel
