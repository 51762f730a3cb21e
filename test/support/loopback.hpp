// TCP on addresses of the loopback interface, for servers of tests.
#pragma once

#include <rdmanet/base/unique_fd.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace rdmanet::test {

inline sockaddr_in loopback(std::uint16_t port, const char* host = "127.0.0.1") {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::inet_addr(host);
    address.sin_port = htons(port);
    return address;
}

/// Listens on a port that the kernel chooses.
class Listener {
public:
    Listener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address = loopback(0);
        socklen_t size = sizeof address;
        auto* generic = reinterpret_cast<sockaddr*>(&address);
        if (::bind(fd_.get(), generic, size) != 0 || ::listen(fd_.get(), 64) != 0 ||
            ::getsockname(fd_.get(), generic, &size) != 0)
            throw std::runtime_error("listening on loopback");
        port_ = ntohs(address.sin_port);
    }

    [[nodiscard]] int get() const { return fd_.get(); }
    [[nodiscard]] std::uint16_t port() const { return port_; }
    /// Waits for a client. Without a descriptor after end().
    [[nodiscard]] base::UniqueFd accept() const {
        return base::UniqueFd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    }
    /// accept() returns, in whichever thread it waits.
    void end() const { ::shutdown(fd_.get(), SHUT_RDWR); }

private:
    base::UniqueFd fd_;
    std::uint16_t port_ = 0;
};

/// Without a descriptor if nobody listens there.
inline base::UniqueFd connect_to(std::uint16_t port, const char* host = "127.0.0.1") {
    base::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(port, host);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fd.reset();
    return fd;
}

inline void send_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count <= 0) return;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
}

} // namespace rdmanet::test
