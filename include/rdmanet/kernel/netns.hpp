// Network namespaces: opening, comparing, and entering one for a moment.
#pragma once

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::kernel {

/// The identity of a namespace, whatever path leads to it: device and inode number of its file (ioctl_ns(2)). The
/// inode number may be used again after the namespace is gone.
struct NetnsId {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;

    friend bool operator==(const NetnsId&, const NetnsId&) = default;
};

/// The path leads to something that is not a network namespace. DEL treats it as absent, because an unmounted
/// namespace leaves an empty regular file behind.
class NotANetnsError : public base::Error {
public:
    NotANetnsError(std::string_view path, std::string_view found);
};

/// A network namespace, kept alive by an open descriptor.
class Netns {
public:
    /// `fd` must be known to be a network namespace. Throws base::SystemError.
    explicit Netns(base::UniqueFd fd);

    /// The calling thread's namespace. Throws base::SystemError.
    [[nodiscard]] static Netns current();

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] const NetnsId& id() const { return id_; }

    friend bool operator==(const Netns& a, const Netns& b) { return a.id_ == b.id_; }

private:
    base::UniqueFd fd_;
    NetnsId id_;
};

/// The network namespace at `path`; symbolic links are followed. nullopt if nothing is there, also if the process of
/// a /proc/PID/ns/net is gone. Never blocks, and opens only namespaces: a pipe, a device or a regular file is only
/// examined. Throws NotANetnsError, base::SystemError.
[[nodiscard]] std::optional<Netns> find_netns(const std::string& path);

/// As above, but absence is an error, too.
[[nodiscard]] Netns get_netns(const std::string& path);

/// A new namespace, which ends with the descriptor. Throws base::SystemError.
[[nodiscard]] Netns make_netns();

/// A namespace other than the caller's with a name in /run/netns (ip-netns(8)), where runtimes keep their pods'
/// namespaces. nullopt if there is none. Throws base::SystemError.
[[nodiscard]] std::optional<Netns> find_other_netns();

/// Paths of the namespaces in a directory that are neither the caller's nor `known`. Entries that cannot be examined
/// are skipped. Throws base::SystemError if the directory cannot be read.
[[nodiscard]] std::vector<std::string> list_other_netns(const std::string& directory, const Netns& known);

/// A number that is unique until the next boot, unlike the inode number (SO_NETNS_COOKIE, Linux 5.14). 0 from older
/// kernels. Throws base::SystemError.
[[nodiscard]] std::uint64_t netns_cookie(const Netns& netns);
/// The same of the namespace that a socket belongs to.
[[nodiscard]] std::uint64_t netns_cookie_of_socket(int fd);

/// Moves the calling thread into a network namespace until the end of the scope. If the way back fails for 100 ms,
/// the process ends (std::terminate), because everything that followed would happen in the wrong namespace.
class NetnsScope {
public:
    /// Throws base::SystemError; the thread then has not moved.
    explicit NetnsScope(const Netns& target);
    NetnsScope(const NetnsScope&) = delete;
    NetnsScope& operator=(const NetnsScope&) = delete;
    ~NetnsScope();

private:
    base::UniqueFd home_;
};

} // namespace rdmanet::kernel
