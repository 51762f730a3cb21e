// Whose processes /proc shows: a search through it proves something about those alone.
#pragma once

#include <cstdint>
#include <string>

namespace rdmanet::kernel {

/// A procfs belongs to one PID namespace and lists the processes of that one and of its descendants. It need not be the
/// caller's own: a daemon that changes its root directory to the node's reads the node's procfs.
struct ProcView {
    std::uint64_t pid_namespace = 0; // inode number; 0 if it can't be told
    std::uint64_t began = 0; // start of its first process, in ticks after boot; 0 if it can't be told, or sees_all()

    /// Every process of the machine: it is the initial PID namespace's.
    [[nodiscard]] bool sees_all() const;

    /// For the journal, to compare: equal for equal views of one boot, 0 if it can't be told. Inode numbers are used
    /// again as soon as a container has gone, so the number of another than the initial namespace comes with its start.
    [[nodiscard]] std::uint64_t id() const;
};

/// `proc` is where procfs is. What is not there, or not shown to the caller, is 0. Throws base::SystemError.
[[nodiscard]] ProcView read_proc_view(const std::string& proc = "/proc");

} // namespace rdmanet::kernel
