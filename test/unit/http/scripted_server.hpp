// A server that says what a test tells it to, byte by byte: what no real server can be brought to say.
#pragma once

#include "support/loopback.hpp"

#include <rdmanet/base/unique_fd.hpp>

#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace rdmanet::http::test {

/// One accepted connection.
class Connection {
public:
    explicit Connection(base::UniqueFd fd) : fd_(std::move(fd)) {}

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
    /// Ends the connection as the kernel does it for a process that was killed with unread bytes.
    void reset() {
        const linger at_once{.l_onoff = 1, .l_linger = 0};
        (void)::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        fd_.reset();
    }
    void send(std::string_view text) { rdmanet::test::send_all(fd_.get(), text); }
    void answer(std::string_view body, const std::string& status = "200 OK") {
        send("HTTP/1.1 " + status + "\r\nContent-Type: application/json\r\nContent-Length: " +
             std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
    }

private:
    base::UniqueFd fd_;
};

/// Serves one connection after the other until it is destroyed.
class ScriptedServer {
public:
    explicit ScriptedServer(std::function<void(Connection&)> serve) : serve_(std::move(serve)) {
        thread_ = std::thread([this] { run(); });
    }
    ScriptedServer(const ScriptedServer&) = delete;
    ScriptedServer& operator=(const ScriptedServer&) = delete;
    ~ScriptedServer() {
        listener_.end();
        thread_.join();
    }

    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(listener_.port()); }
    [[nodiscard]] int connections() const { return connections_; }

private:
    void run() {
        for (;;) {
            base::UniqueFd client = listener_.accept();
            if (!client) return;
            ++connections_;
            Connection connection(std::move(client));
            serve_(connection);
        }
    }

    rdmanet::test::Listener listener_;
    std::function<void(Connection&)> serve_;
    std::atomic<int> connections_{0};
    std::thread thread_;
};

} // namespace rdmanet::http::test
