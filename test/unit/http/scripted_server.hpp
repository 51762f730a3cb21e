// A server that says what a test tells it to, byte by byte: what no real server can be brought to say.
#pragma once

#include <rdmanet/base/unique_fd.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace rdmanet::http::test {

/// One accepted connection.
class Connection {
public:
    explicit Connection(int fd) : fd_(fd) {}

    /// Up to the empty line behind the headers, and the body that they announce. Empty if the client has gone.
    [[nodiscard]] std::string read_request() {
        std::string text;
        std::size_t wanted = std::string::npos;
        while (text.size() < wanted) {
            char buffer[4096];
            const ssize_t count = ::recv(fd_.get(), buffer, sizeof buffer, 0);
            if (count <= 0) return {};
            text.append(buffer, static_cast<std::size_t>(count));
            const auto end = text.find("\r\n\r\n");
            if (end == std::string::npos) continue;
            const auto length = text.find("Content-Length: ");
            wanted = end + 4 + (length == std::string::npos ? 0 : std::stoul(text.substr(length + 16)));
        }
        return text;
    }
    void send(std::string_view text) {
        while (!text.empty()) {
            const ssize_t count = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
            if (count <= 0) return;
            text.remove_prefix(static_cast<std::size_t>(count));
        }
    }

private:
    base::UniqueFd fd_;
};

/// Serves one connection after the other until it is destroyed.
class ScriptedServer {
public:
    explicit ScriptedServer(std::function<void(Connection&)> serve)
        : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), serve_(std::move(serve)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* generic = reinterpret_cast<sockaddr*>(&address);
        if (::bind(listener_.get(), generic, size) != 0 || ::listen(listener_.get(), 16) != 0 ||
            ::getsockname(listener_.get(), generic, &size) != 0)
            throw std::runtime_error("listening on loopback");
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { run(); });
    }
    ScriptedServer(const ScriptedServer&) = delete;
    ScriptedServer& operator=(const ScriptedServer&) = delete;
    ~ScriptedServer() {
        ::shutdown(listener_.get(), SHUT_RDWR); // accept() returns
        thread_.join();
    }

    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
    [[nodiscard]] int connections() const { return connections_; }

private:
    void run() {
        for (;;) {
            const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
            if (fd < 0) return;
            ++connections_;
            Connection connection(fd);
            serve_(connection);
        }
    }

    base::UniqueFd listener_;
    std::function<void(Connection&)> serve_;
    std::atomic<int> connections_{0};
    unsigned port_ = 0;
    std::thread thread_;
};

} // namespace rdmanet::http::test
