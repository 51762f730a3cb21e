// A proxy that connects clients to servers of this machine (RFC 9110, section 9.3.6), one after the other.
#pragma once

#include "support/loopback.hpp"

#include <rdmanet/base/unique_fd.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rdmanet::test {

class ConnectProxy {
public:
    /// Refuses who does not send this value of Proxy-Authorization.
    explicit ConnectProxy(std::string authorization) : authorization_(std::move(authorization)) {
        thread_ = std::thread([this] { run(); });
    }
    ConnectProxy(const ConnectProxy&) = delete;
    ConnectProxy& operator=(const ConnectProxy&) = delete;
    ~ConnectProxy() {
        listener_.end();
        thread_.join();
    }

    [[nodiscard]] std::uint16_t port() const { return listener_.port(); }
    /// The first lines of what was asked for.
    [[nodiscard]] std::vector<std::string> requests() {
        const std::lock_guard lock(mutex_);
        return requests_;
    }

private:
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
        const base::UniqueFd server = connect_to(port);
        if (!server) return;
        send_all(client, answer);
        pollfd waiting[] = {{client, POLLIN, 0}, {server.get(), POLLIN, 0}};
        while (is_allowed && ::poll(waiting, 2, -1) > 0)
            if ((waiting[0].revents != 0 && !pass(client, server.get())) ||
                (waiting[1].revents != 0 && !pass(server.get(), client)))
                return;
    }

    void run() {
        for (;;) {
            const base::UniqueFd client = listener_.accept();
            if (!client) return;
            serve(client.get());
        }
    }

    std::string authorization_;
    Listener listener_;
    std::mutex mutex_;
    std::vector<std::string> requests_;
    std::thread thread_;
};

} // namespace rdmanet::test
