// An exclusive lock that the kernel drops when its holder dies, with a bounded wait that names the holder.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace rdmanet::base {

/// What becomes of a lock whose file can't be written, on a file system that is read-only or full. `shared`: it is
/// locked against those that could write it before, not against others that can't; a file that can't be made holds
/// nothing, as nobody has locked it.
enum class IfUnwritable : std::uint8_t { fail, shared };

/// Locks byte `slot` of `path` (created if missing, never removed: removing a lock file races with its next user).
/// fcntl record locks belong to the process, so one file serves any number of locks, they are not inherited by
/// executed plugins, and F_GETLK tells the holder's process id for the message (fcntl(2), "Advisory record locking").
/// A process must hold at most one FileLock per path: closing any descriptor of the file drops all its locks.
class FileLock {
public:
    /// Holds nothing.
    FileLock() = default;
    /// Throws TimeoutError naming `what` and the holder when `deadline` passes, SystemError otherwise.
    FileLock(const std::string& path, std::uint64_t slot, const std::string& what, const Deadline& deadline,
             IfUnwritable if_unwritable = IfUnwritable::fail);

    /// Locks byte `slot` as well, for others to see: whoever may do that has another lock that excludes the rest. Throws
    /// SystemError.
    void show(std::uint64_t slot);
    void hide(std::uint64_t slot);

private:
    void set(std::uint64_t slot, short type);

    UniqueFd fd_;
};

/// The process that holds the lock, as this process numbers it: 0 if it can't see that one, nullopt if nobody holds it.
/// Throws SystemError. The caller must hold no FileLock of that path.
[[nodiscard]] std::optional<std::int64_t> find_lock_holder(const std::string& path, std::uint64_t slot);

} // namespace rdmanet::base
