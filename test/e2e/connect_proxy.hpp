// A proxy that connects clients to servers of this machine (RFC 9110, section 9.3.6), one after the other.
#pragma once

#include <rdmanet/base/unique_fd.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rdmanet::test {

class ConnectProxy {
public:
    /// Refuses who does not send this value of Proxy-Authorization.
    explicit ConnectProxy(std::string authorization)
        : authorization_(std::move(authorization)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address = loopback(0);
        socklen_t size = sizeof address;
        auto* generic = reinterpret_cast<sockaddr*>(&address);
        if (::bind(listener_.get(), generic, size) != 0 || ::listen(listener_.get(), 16) != 0 ||
            ::getsockname(listener_.get(), generic, &size) != 0)
            throw std::runtime_error("listening on loopback");
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { run(); });
    }
    ConnectProxy(const ConnectProxy&) = delete;
    ConnectProxy& operator=(const ConnectProxy&) = delete;
    ~ConnectProxy() {
        ::shutdown(listener_.get(), SHUT_RDWR); // accept() returns
        thread_.join();
    }

    [[nodiscard]] std::uint16_t port() const { return port_; }
    /// The first lines of what was asked for.
    [[nodiscard]] std::vector<std::string> requests() {
        const std::lock_guard lock(mutex_);
        return requests_;
    }

private:
    static sockaddr_in loopback(std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(port);
        return address;
    }

    static bool pass(int from, int to) {
        char buffer[16384];
        const ssize_t count = ::recv(from, buffer, sizeof buffer, 0);
        return count > 0 && ::send(to, buffer, static_cast<std::size_t>(count), MSG_NOSIGNAL) == count;
    }

    void serve(int client) {
        std::string head;
        while (head.find("\r\n\r\n") == std::string::npos) {
            char byte = 0; // TLS follows, and is not ours
            if (::recv(client, &byte, 1, 0) != 1) return;
            head += byte;
        }
        const std::string line = head.substr(0, head.find("\r\n"));
        {
            const std::lock_guard lock(mutex_);
            requests_.push_back(line);
        }
        const bool is_allowed = head.find("Proxy-Authorization: " + authorization_ + "\r\n") != std::string::npos;
        const std::string answer = is_allowed
                                       ? "HTTP/1.1 200 Connection established\r\n\r\n"
                                       : "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n";
        const auto port = static_cast<std::uint16_t>(std::stoul(line.substr(line.find(':') + 1)));
        const sockaddr_in address = loopback(port);
        const base::UniqueFd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (::connect(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return;
        (void)!::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
        pollfd waiting[] = {{client, POLLIN, 0}, {server.get(), POLLIN, 0}};
        while (is_allowed && ::poll(waiting, 2, -1) > 0)
            if ((waiting[0].revents != 0 && !pass(client, server.get())) ||
                (waiting[1].revents != 0 && !pass(server.get(), client)))
                return;
    }

    void run() {
        for (;;) {
            const base::UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!client) return;
            serve(client.get());
        }
    }

    std::string authorization_;
    base::UniqueFd listener_;
    std::uint16_t port_ = 0;
    std::mutex mutex_;
    std::vector<std::string> requests_;
    std::thread thread_;
};

} // namespace rdmanet::test
