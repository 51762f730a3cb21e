// Which processes /proc shows: a search through it proves something only about them.
#pragma once

#include <cstdint>
#include <string>

namespace rdmanet::kernel {

/// A procfs belongs to one PID namespace and lists the processes of that namespace and its descendants. It need not
/// be the caller's own: a daemon that changes its root directory to the node's reads the node's procfs.
struct ProcView {
    std::uint64_t pid_namespace = 0; // inode number; 0 if unknown
    std::uint64_t began = 0;         // start of its first process, in ticks after boot; 0 if unknown, or if sees_all()

    /// True for the initial PID namespace: /proc shows every process of the machine.
    [[nodiscard]] bool sees_all() const;

    /// A number for the journal, to compare views: equal for equal views of one boot, 0 if unknown. Inode numbers are
    /// used again as soon as a container is gone, so the number of a namespace other than the initial one has its
    /// start added.
    [[nodiscard]] std::uint64_t id() const;
};

/// `proc` is where procfs is mounted. A value that is absent, or hidden from the caller, is 0. Throws
/// base::SystemError.
[[nodiscard]] ProcView read_proc_view(const std::string& proc = "/proc");

} // namespace rdmanet::kernel
