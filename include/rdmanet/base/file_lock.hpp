// An exclusive lock that the kernel drops when its holder dies, with a bounded wait that names the holder.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace rdmanet::base {

/// What to do if the lock file cannot be written because its file system is read-only or full. `shared` takes a read
/// lock. It excludes a process that locked the file while it was writable, but not another one with a read lock. A
/// missing file that cannot be created needs no lock, because nobody has locked it.
enum class IfUnwritable : std::uint8_t { fail, shared };

/// Another process kept the lock until the deadline. The message names the lock and that process. It does not say what
/// to do, because that depends on the operation that needs the lock.
class LockTimeout : public TimeoutError {
public:
    using TimeoutError::TimeoutError;
};

/// Locks byte `slot` of `path`. The file is created if it is missing and never removed, because removing a lock file
/// races with its next user. fcntl record locks belong to the process: one file serves any number of locks, executed
/// plugins do not inherit them, and F_GETLK names the holder's process (fcntl(2), "Advisory record locking"). A
/// process must hold at most one FileLock for each path: closing any descriptor of the file drops all its locks.
class FileLock {
public:
    /// A lock of nothing.
    FileLock() = default;
    /// Throws LockTimeout naming `what` and the holder when `deadline` passes, SystemError otherwise.
    FileLock(const std::string& path, std::uint64_t slot, const std::string& what, const Deadline& deadline,
             IfUnwritable if_unwritable = IfUnwritable::fail);

    /// Locks byte `slot` as well, so that other processes see it. The caller holds another lock that excludes them.
    /// Throws SystemError.
    void show(std::uint64_t slot);
    void hide(std::uint64_t slot);

private:
    void set(std::uint64_t slot, short type);

    UniqueFd fd_;
};

/// The process that holds the lock, by its number in this process's PID namespace. 0 if it is in a namespace that
/// this process cannot see, nullopt if nobody holds the lock. Throws SystemError. The caller must hold no FileLock of
/// that path.
[[nodiscard]] std::optional<std::int64_t> find_lock_holder(const std::string& path, std::uint64_t slot);

} // namespace rdmanet::base
