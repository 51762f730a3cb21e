#include "local_socket.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

namespace rdmanet::doctor {
namespace {

/// A socket's address has room for 107 characters. This leads to `path` also if that is longer.
std::string short_path_of(const base::UniqueFd& directory, const std::string& path) {
    return fmt::format("/proc/self/fd/{}{}", directory.get(), path.substr(path.rfind('/')));
}

} // namespace

bool is_listened_at(const std::string& path) {
    const std::string folder = path.substr(0, path.rfind('/'));
    const base::UniqueFd directory(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory && errno == ENOENT) return false;
    if (!directory) throw base::SystemError(fmt::format("open {}", folder), errno);
    const base::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) throw base::SystemError("socket", errno);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = short_path_of(directory, path);
    if (name.size() >= sizeof address.sun_path) throw base::SystemError(path, ENAMETOOLONG);
    std::memcpy(address.sun_path, name.data(), name.size());
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
    // EAGAIN: its queue of connections is full (unix_stream_connect(), net/unix/af_unix.c).
    if (errno == EAGAIN) return true;
    if (errno == ENOENT || errno == ECONNREFUSED) return false;
    throw base::SystemError(fmt::format("connect to {}", path), errno);
}

} // namespace rdmanet::doctor
