#include <rdmanet/kernel/netns.hpp>

#include <rdmanet/base/directory.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/wait.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <chrono>
#include <exception>

namespace rdmanet::kernel {
namespace {

using base::quoted;
using base::SystemError;
using base::UniqueFd;

constexpr const char* kOwnNetns = "/proc/thread-self/ns/net";
constexpr int kNetnsCookie = 71; // SO_NETNS_COOKIE, asm-generic/socket.h since Linux 5.14

std::string_view kind_of_file(int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) return "an unreadable file";
    switch (status.st_mode & static_cast<mode_t>(S_IFMT)) {
    case S_IFREG: return status.st_size == 0 ? "an empty regular file" : "a regular file";
    case S_IFDIR: return "a directory";
    case S_IFIFO: return "a pipe";
    case S_IFSOCK: return "a socket";
    case S_IFCHR:
    case S_IFBLK: return "a device";
    default: return "another kind of file";
    }
}

// Values of NS_GET_NSTYPE are the CLONE_NEW* constants (ioctl_ns(2)).
std::string_view kind_of_namespace(int type) {
    switch (type) {
    case CLONE_NEWNS: return "a mount namespace";
    case CLONE_NEWPID: return "a process namespace";
    case CLONE_NEWUSER: return "a user namespace";
    case CLONE_NEWIPC: return "an IPC namespace";
    case CLONE_NEWUTS: return "a UTS namespace";
    case CLONE_NEWCGROUP: return "a cgroup namespace";
    default: return "another kind of namespace";
    }
}

bool is_on_nsfs(int fd) {
    struct statfs status {};
    return ::fstatfs(fd, &status) == 0 && status.f_type == NSFS_MAGIC;
}

// ESRCH: /proc/PID/ns/net of a process that has just ended.
bool means_no_namespace(int errno_value) {
    return errno_value == ENOENT || errno_value == ENOTDIR || errno_value == ESRCH;
}

/// What is wrong with a path that leads nowhere for every caller; empty for other errors.
std::string_view dead_end(int errno_value) {
    switch (errno_value) {
    case ELOOP: return "a loop of symbolic links";
    case ENAMETOOLONG: return "longer than a path can be";
    default: return {};
    }
}

NetnsId identify(int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) throw SystemError("identify network namespace", errno);
    return {.device = status.st_dev, .inode = status.st_ino};
}

} // namespace

NotANetnsError::NotANetnsError(std::string_view path, std::string_view found)
    : Error(fmt::format("open network namespace {}: it is {}", quoted(path), found)) {}

Netns::Netns(UniqueFd fd) : fd_(std::move(fd)), id_(identify(fd_.get())) {}

Netns Netns::current() {
    UniqueFd fd(::open(kOwnNetns, O_RDONLY | O_CLOEXEC));
    if (!fd) throw SystemError(fmt::format("open {}", kOwnNetns), errno);
    return Netns(std::move(fd));
}

std::optional<Netns> find_netns(const std::string& path) {
    // O_PATH first: open() of a device may have any effect, and open() of a pipe may wait.
    const UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!place && means_no_namespace(errno)) return std::nullopt;
    if (!place && !dead_end(errno).empty()) throw NotANetnsError(path, dead_end(errno));
    if (!place) throw SystemError(fmt::format("open network namespace {}", quoted(path)), errno);
    if (!is_on_nsfs(place.get())) throw NotANetnsError(path, kind_of_file(place.get()));

    UniqueFd fd(::open(fmt::format("/proc/self/fd/{}", place.get()).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) throw SystemError(fmt::format("open network namespace {}", quoted(path)), errno);
    const int type = ::ioctl(fd.get(), NS_GET_NSTYPE);
    if (type != CLONE_NEWNET) throw NotANetnsError(path, kind_of_namespace(type));
    return Netns(std::move(fd));
}

Netns get_netns(const std::string& path) {
    auto netns = find_netns(path);
    if (!netns) throw SystemError(fmt::format("open network namespace {}", quoted(path)), ENOENT);
    return *std::move(netns);
}

Netns make_netns() {
    return base::in_context("make a network namespace, as root may", [] {
        const NetnsScope way_back(Netns::current());
        if (::unshare(CLONE_NEWNET) != 0) throw SystemError("unshare", errno);
        return Netns::current();
    });
}

std::optional<Netns> find_other_netns() {
    constexpr const char* kNames = "/run/netns";
    const Netns own = Netns::current();
    for (const std::string& name : base::list_directory(kNames)) try {
            auto netns = find_netns(fmt::format("{}/{}", kNames, name));
            if (netns && !(*netns == own)) return netns;
        } catch (const NotANetnsError&) { // an unmounted namespace leaves an empty file behind
        }
    return std::nullopt;
}

std::vector<std::string> list_other_netns(const std::string& directory, const Netns& known) {
    const Netns own = Netns::current();
    std::vector<std::string> paths;
    for (const std::string& name : base::list_directory(directory)) try {
            std::string path = fmt::format("{}/{}", directory, name);
            const auto netns = find_netns(path);
            if (netns && !(*netns == own) && !(*netns == known)) paths.push_back(std::move(path));
        } catch (const base::Error&) {
        }
    return paths;
}

std::uint64_t netns_cookie(const Netns& netns) {
    const NetnsScope scope(netns);
    const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket) throw SystemError("open a socket to identify a network namespace", errno);
    return netns_cookie_of_socket(socket.get());
}

std::uint64_t netns_cookie_of_socket(int fd) {
    std::uint64_t cookie = 0;
    socklen_t size = sizeof cookie;
    if (::getsockopt(fd, SOL_SOCKET, kNetnsCookie, &cookie, &size) == 0) return cookie;
    if (errno == ENOPROTOOPT) return 0;
    throw SystemError("identify a network namespace", errno);
}

NetnsScope::NetnsScope(const Netns& target) : home_(::open(kOwnNetns, O_RDONLY | O_CLOEXEC)) {
    if (!home_) throw SystemError(fmt::format("open {}", kOwnNetns), errno);
    if (::setns(target.fd(), CLONE_NEWNET) != 0) throw SystemError("enter network namespace", errno);
}

NetnsScope::~NetnsScope() {
    // The kernel allocates a little memory for this (create_new_namespaces()), which may become free again.
    const auto deadline = base::Deadline::in(std::chrono::seconds{2});
    const auto is_home = [&] { return ::setns(home_.get(), CLONE_NEWNET) == 0; };
    if (!base::wait_for(deadline, is_home, {.longest = std::chrono::milliseconds{1}})) std::terminate();
}

} // namespace rdmanet::kernel
