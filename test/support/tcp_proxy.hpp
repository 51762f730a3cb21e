// A proxy between a client and a server on loopback, which breaks a connection where a test says. It passes bytes on
// and understands none of them, so the server may speak TLS.
#pragma once

#include "loopback.hpp"

#include <rdmanet/base/unique_fd.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace rdmanet::test {

class TcpProxy {
public:
    static constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

    /// After so many bytes from clients, or to them, the connection at hand is closed on both sides, once.
    explicit TcpProxy(std::uint16_t server_port, std::size_t cut_requests_at = kNever,
                      std::size_t cut_answers_at = kNever)
        : server_port_(server_port), requests_left_(cut_requests_at), answers_left_(cut_answers_at),
          wake_(::eventfd(0, EFD_CLOEXEC)) {
        thread_ = std::thread([this] { run(); });
    }
    TcpProxy(const TcpProxy&) = delete;
    TcpProxy& operator=(const TcpProxy&) = delete;
    ~TcpProxy() {
        ends_ = true;
        wake();
        thread_.join();
    }

    [[nodiscard]] std::uint16_t port() const { return listener_.port(); }
    [[nodiscard]] std::size_t bytes_of_requests() const { return requests_; }
    [[nodiscard]] std::size_t bytes_of_answers() const { return answers_; }

    /// Keeps the `number`-th piece that a client sends from now on, hangs up on that client, and lets nobody in: a
    /// request is on its way, and whoever sent it does not hear of it.
    void hang_up_at_piece(int number) { pieces_left_ = number; }
    /// The server gets what was kept. Clients are let in again.
    void let_go() {
        lets_go_ = true;
        wake();
    }

private:
    struct Connection {
        base::UniqueFd client; // closed: the server does not know yet
        base::UniqueFd server;
        std::string kept{};
        bool is_over = false;
    };

    void wake() const {
        const std::uint64_t one = 1;
        (void)!::write(wake_.get(), &one, sizeof one);
    }

    void accept_one() {
        base::UniqueFd client = listener_.accept();
        if (!client || is_closed_) return;
        base::UniqueFd server = connect_to(server_port_);
        if (!server) return;
        connections_.push_back({.client = std::move(client), .server = std::move(server)});
    }

    /// Passes on as many bytes as `left` allows; closes the connection where it ends.
    void pass(std::string_view bytes, int to, Connection& connection, std::size_t& left,
              std::atomic<std::size_t>& total) const {
        const std::size_t count = std::min(left, bytes.size());
        send_all(to, bytes.substr(0, count));
        total += count;
        if (left == kNever) return;
        left -= count;
        if (count == bytes.size() && left != 0) return;
        left = kNever;
        connection.is_over = true;
    }

    void read_client(Connection& connection) {
        char buffer[65536];
        const ssize_t count = ::recv(connection.client.get(), buffer, sizeof buffer, 0);
        if (count <= 0) {
            connection.is_over = true;
            return;
        }
        const std::string_view bytes(buffer, static_cast<std::size_t>(count));
        if (pieces_left_ > 0 && --pieces_left_ == 0) {
            connection.kept = bytes;
            connection.client.reset();
            is_closed_ = true;
            return;
        }
        pass(bytes, connection.server.get(), connection, requests_left_, requests_);
    }

    void read_server(Connection& connection) {
        char buffer[65536];
        const ssize_t count = ::recv(connection.server.get(), buffer, sizeof buffer, 0);
        if (count <= 0) {
            connection.is_over = true;
            return;
        }
        if (connection.client)
            pass({buffer, static_cast<std::size_t>(count)}, connection.client.get(), connection, answers_left_,
                 answers_);
    }

    void give_what_was_kept() {
        for (Connection& connection : connections_)
            if (!connection.kept.empty()) send_all(connection.server.get(), std::exchange(connection.kept, {}));
        is_closed_ = false;
    }

    void run() {
        while (!ends_) {
            if (lets_go_.exchange(false)) give_what_was_kept();
            std::vector<pollfd> waiting{{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
            for (const Connection& connection : connections_) {
                waiting.push_back({connection.client ? connection.client.get() : -1, POLLIN, 0});
                waiting.push_back({connection.server.get(), POLLIN, 0});
            }
            if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
            std::uint64_t woken = 0;
            if (waiting[1].revents != 0) (void)!::read(wake_.get(), &woken, sizeof woken);
            std::size_t at = 2;
            for (Connection& connection : connections_) {
                if (waiting[at++].revents != 0) read_client(connection);
                if (waiting[at++].revents != 0 && !connection.is_over) read_server(connection);
            }
            connections_.remove_if([](const Connection& connection) { return connection.is_over; });
            if (waiting[0].revents != 0) accept_one();
        }
    }

    std::uint16_t server_port_;
    std::size_t requests_left_;
    std::size_t answers_left_;
    Listener listener_;
    base::UniqueFd wake_;
    std::list<Connection> connections_;
    bool is_closed_ = false;
    std::atomic<std::size_t> requests_{0};
    std::atomic<std::size_t> answers_{0};
    std::atomic<int> pieces_left_{0};
    std::atomic<bool> lets_go_{false};
    std::atomic<bool> ends_{false};
    std::thread thread_;
};

} // namespace rdmanet::test
