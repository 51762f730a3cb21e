// Network namespaces: opening what a runtime names, telling one from another, entering one for a moment.
#pragma once

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::kernel {

/// What a namespace is told by, whatever path leads to it: device and inode number of its file (ioctl_ns(2)). The
/// inode number is used again after the namespace's death.
struct NetnsId {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;

    friend bool operator==(const NetnsId&, const NetnsId&) = default;
};

/// The path leads to something that is no network namespace. DEL takes it for an absent one: an unmounted namespace
/// leaves an empty regular file behind.
class NotANetnsError : public base::Error {
public:
    NotANetnsError(std::string_view path, std::string_view found);
};

/// A network namespace, kept alive by an open descriptor.
class Netns {
public:
    /// For a descriptor that is known to be a network namespace's. Throws base::SystemError.
    explicit Netns(base::UniqueFd fd);

    /// Of the calling thread. Throws base::SystemError.
    [[nodiscard]] static Netns current();

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] const NetnsId& id() const { return id_; }

    friend bool operator==(const Netns& a, const Netns& b) { return a.id_ == b.id_; }

private:
    base::UniqueFd fd_;
    NetnsId id_;
};

/// The network namespace at `path`, symbolic links followed; nullopt if nothing is there (also: the process of a
/// /proc/PID/ns/net is gone). Never blocks, and opens nothing but namespaces: a path to a pipe, a device or a regular
/// file is only looked at. Throws NotANetnsError, base::SystemError.
[[nodiscard]] std::optional<Netns> find_netns(const std::string& path);

/// As above, but absence is an error, too.
[[nodiscard]] Netns get_netns(const std::string& path);

/// A new one, which goes with the descriptor. Throws base::SystemError.
[[nodiscard]] Netns make_netns();

/// One that isn't the caller's, of those with a name in /run/netns (ip-netns(8)), where runtimes keep their pods'.
/// nullopt if there is none. Throws base::SystemError.
[[nodiscard]] std::optional<Netns> find_other_netns();

/// Paths of those in a directory that are neither the caller's nor `known`. What can't be looked at is passed over.
/// Throws base::SystemError where the directory can't be read.
[[nodiscard]] std::vector<std::string> list_other_netns(const std::string& directory, const Netns& known);

/// A number that no other namespace gets until the next boot, unlike the inode number (SO_NETNS_COOKIE, Linux 5.14);
/// 0 from older kernels. Throws base::SystemError.
[[nodiscard]] std::uint64_t netns_cookie(const Netns& netns);

/// Moves the calling thread into a network namespace until the end of the scope. If the way back fails for 100 ms the
/// process ends (std::terminate): everything that followed would happen in the wrong namespace.
class NetnsScope {
public:
    /// Throws base::SystemError; the thread is then where it was.
    explicit NetnsScope(const Netns& target);
    NetnsScope(const NetnsScope&) = delete;
    NetnsScope& operator=(const NetnsScope&) = delete;
    ~NetnsScope();

private:
    base::UniqueFd home_;
};

} // namespace rdmanet::kernel
