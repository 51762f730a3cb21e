// A real etcd behind a connection that loses answers, or keeps requests back until later.
#pragma once

#include "../http/scripted_server.hpp"

#include <rdmanet/http/client.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace rdmanet::cluster::test {

class LossyEtcd {
public:
    enum class Fate { answered, answer_lost, answer_cut, request_cut, kept_back, dropped };

    /// `fate`: of a request, whose text it gets.
    LossyEtcd(const std::string& endpoint, std::function<Fate(const std::string&)> fate)
        : etcd_(http::Url::parse(endpoint)), fate_(std::move(fate)),
          server_([this](http::test::Connection& connection) { serve(connection); }) {}

    [[nodiscard]] std::string endpoint() const { return server_.url(); }

    std::atomic<std::size_t> cut_after{0}; // bytes

    /// What was kept back reaches etcd now. The answers, for which nobody waits any more.
    std::string deliver_late() {
        std::string answers;
        const std::scoped_lock lock(mutex_);
        for (const std::string& request : kept_back_) answers += forward(request);
        kept_back_.clear();
        return answers;
    }

private:
    void serve(http::test::Connection& connection) {
        const std::string request = connection.read_request();
        if (request.empty()) return;
        switch (fate_(request)) {
        case Fate::answered: connection.send(forward(request)); break;
        case Fate::answer_lost: (void)forward(request); break;
        case Fate::answer_cut: connection.send(forward(request).substr(0, cut_after)); break;
        case Fate::request_cut: (void)forward(request.substr(0, cut_after), true); break;
        case Fate::dropped: break;
        case Fate::kept_back: {
            const std::scoped_lock lock(mutex_);
            kept_back_.push_back(request);
        }
        }
    }

    /// As HTTP/1.0, after whose answer etcd closes the connection.
    [[nodiscard]] std::string forward(std::string request, bool is_cut = false) const {
        if (const auto version = request.find("HTTP/1.1"); version != std::string::npos)
            request.replace(version, 8, "HTTP/1.0");
        const base::UniqueFd etcd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        ::inet_pton(AF_INET, etcd_.host.c_str(), &address.sin_addr);
        address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(etcd_.port)));
        if (::connect(etcd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
            ::send(etcd.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
            throw std::runtime_error("sending to etcd");
        if (is_cut) ::shutdown(etcd.get(), SHUT_WR); // to etcd, that is a client that has gone
        std::string answer;
        char buffer[4096];
        for (ssize_t count = 0; (count = ::recv(etcd.get(), buffer, sizeof buffer, 0)) > 0;)
            answer.append(buffer, static_cast<std::size_t>(count));
        return answer;
    }

    http::Url etcd_;
    std::function<Fate(const std::string&)> fate_;
    std::mutex mutex_;
    std::vector<std::string> kept_back_;
    http::test::ScriptedServer server_; // the last one: it ends before the others do
};

} // namespace rdmanet::cluster::test
