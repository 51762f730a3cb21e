// Processes of the host, as directories in its /proc.
#pragma once

#include "context.hpp"

#include <rdmanet/base/unique_fd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::doctor {

[[nodiscard]] std::vector<std::string> list_processes(const Context& context);

/// "containerd"
[[nodiscard]] std::string program_of(const std::string& process);

/// "process 42 (sleep)"
[[nodiscard]] std::string name_of_process(const std::string& process);

/// The soft limit in bytes (proc(5), /proc/PID/limits). nullopt if it has none, or has ended.
[[nodiscard]] std::optional<std::uint64_t> locked_memory_of(const std::string& process);

/// Opens a file of the process's image with O_PATH. Symbolic links lead to files of the image, never to the host's.
/// Empty if there is none, or the process has ended. Throws base::SystemError if it must not be looked at, or without
/// openat2(2) (Linux 5.6).
[[nodiscard]] base::UniqueFd open_in_image(const std::string& process, const std::string& path);
[[nodiscard]] bool image_has(const std::string& process, const std::string& path);
/// Sorted; empty if the directory is absent. Throws base::Error if it has more than `most` names.
[[nodiscard]] std::vector<std::string> names_in_image(const std::string& process, const std::string& directory,
                                                      std::size_t most);

/// Whether it is in a user namespace of its own. nullopt if it has ended, or must not be looked at.
[[nodiscard]] std::optional<bool> has_own_users(const Context& context, const std::string& process);

/// False for root of a user namespace, and if the process has ended. Any process can take any name (PR_SET_NAME,
/// prctl(2)), so a name alone does not prove that a process is a program of the node.
[[nodiscard]] bool is_of_root(const Context& context, const std::string& process);

/// Whether the kernel lets it pin any amount of memory: it has CAP_IPC_LOCK in the host's user namespace
/// (ib_umem_get(), drivers/infiniband/core/umem.c, asks capable()). nullopt if it has ended, or must not be looked at.
[[nodiscard]] std::optional<bool> may_pin_any(const Context& context, const std::string& process);

/// Whether its image has a character device at `path` that it may read and write, by the file's owner and mode and by
/// CAP_DAC_OVERRIDE. Groups do not count. The rules of the device cgroup cannot be read; runtimes let a container open
/// what they put into its /dev. Throws as open_in_image().
[[nodiscard]] bool may_open(const Context& context, const std::string& process, const std::string& path);

} // namespace rdmanet::doctor
