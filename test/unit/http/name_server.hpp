// A name server that answers as a test tells it to: slowly, never, wrongly.
#pragma once

#include <rdmanet/base/unique_fd.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rdmanet::http::test {

struct NameQuestion {
    std::string name; // "a.b"
    bool is_v6 = false;
};

struct NameReply {
    static constexpr int kNoError = 0;
    static constexpr int kServerFailure = 2;
    static constexpr int kUnknownName = 3;

    int code = kNoError;
    std::vector<std::string> addresses{}; // of the family that was asked for
    bool is_silent = false;
    bool is_somebody_elses = false; // has another identifier
};

/// Serves UDP or TCP until it is destroyed.
class NameServer {
public:
    explicit NameServer(std::function<NameReply(const NameQuestion&)> answer, int type = SOCK_DGRAM)
        : socket_(::socket(AF_INET, type | SOCK_CLOEXEC, 0)), answer_(std::move(answer)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* generic = reinterpret_cast<sockaddr*>(&address);
        if (::bind(socket_.get(), generic, size) != 0 || ::getsockname(socket_.get(), generic, &size) != 0)
            throw std::runtime_error("a name server on loopback");
        port_ = ntohs(address.sin_port);
        if (type == SOCK_STREAM && ::listen(socket_.get(), 8) != 0) throw std::runtime_error("listen");
        thread_ = std::thread([this, type] { type == SOCK_STREAM ? run_tcp() : run(); });
    }
    NameServer(const NameServer&) = delete;
    NameServer& operator=(const NameServer&) = delete;
    ~NameServer() {
        ::shutdown(socket_.get(), SHUT_RDWR); // recvfrom() returns
        thread_.join();
    }

    [[nodiscard]] std::uint16_t port() const { return port_; }

private:
    static std::string name_in(const std::string& query) {
        std::string name;
        for (std::size_t at = 12; query.at(at) != 0; at += static_cast<unsigned char>(query[at]) + 1U)
            name += (name.empty() ? "" : ".") + query.substr(at + 1, static_cast<unsigned char>(query[at]));
        return name;
    }

    static std::string packet(const std::string& query, const NameReply& reply, bool is_v6) {
        std::string text = query;
        if (reply.is_somebody_elses) text[0] = static_cast<char>(text[0] ^ 1);
        text[2] = '\x81'; // an answer, recursion desired
        text[3] = static_cast<char>(0x80 | reply.code);
        text[7] = static_cast<char>(reply.addresses.size());
        for (const std::string& address : reply.addresses) {
            unsigned char bytes[16];
            const std::size_t length = is_v6 ? 16 : 4;
            ::inet_pton(is_v6 ? AF_INET6 : AF_INET, address.c_str(), bytes);
            text.append("\xc0\x0c\0", 3).append(1, is_v6 ? '\x1c' : '\x01').append("\0\x01\0\0\0\x05\0", 7);
            text.append(1, static_cast<char>(length)).append(reinterpret_cast<const char*>(bytes), length);
        }
        return text;
    }

    void run() {
        for (;;) {
            char buffer[512];
            sockaddr_storage from{};
            socklen_t size = sizeof from;
            const ssize_t count =
                ::recvfrom(socket_.get(), buffer, sizeof buffer, 0, reinterpret_cast<sockaddr*>(&from), &size);
            if (count <= 0) return;
            const std::string text = reply_to(std::string(buffer, static_cast<std::size_t>(count)));
            if (text.empty()) continue;
            (void)!::sendto(socket_.get(), text.data(), text.size(), 0, reinterpret_cast<sockaddr*>(&from), size);
        }
    }

    /// A question for each connection, with its length before it (RFC 1035, section 4.2.2).
    void run_tcp() {
        for (;;) {
            const base::UniqueFd connection(::accept(socket_.get(), nullptr, nullptr));
            if (!connection) return;
            char buffer[512];
            const ssize_t count = ::recv(connection.get(), buffer, sizeof buffer, 0);
            if (count < 2) continue;
            const std::string text = reply_to(std::string(buffer + 2, static_cast<std::size_t>(count) - 2));
            if (text.empty()) continue;
            const std::string framed = std::string(1, '\0') + static_cast<char>(text.size()) + text;
            (void)!::send(connection.get(), framed.data(), framed.size(), MSG_NOSIGNAL);
        }
    }

    /// Empty: none.
    std::string reply_to(const std::string& query) {
        const bool is_v6 = query.at(query.size() - 3) == '\x1c';
        const NameReply reply = answer_({.name = name_in(query), .is_v6 = is_v6});
        return reply.is_silent ? std::string() : packet(query, reply, is_v6);
    }

    base::UniqueFd socket_;
    std::function<NameReply(const NameQuestion&)> answer_;
    std::uint16_t port_ = 0;
    std::thread thread_;
};

} // namespace rdmanet::http::test
