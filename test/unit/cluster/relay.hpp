// Stands between a client and the real API server: counts requests, loses them or their answers, delivers them late,
// and sends them away.
#pragma once

#include "fixture.hpp"

#include "unit/http/scripted_server.hpp"

#include <rdmanet/http/client.hpp>
#include <rdmanet/json/writer.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace rdmanet::cluster::test {

enum class Fate {
    passes,
    is_lost,
    loses_its_answer,
    comes_late,
    is_sent_away, // with Relay::busy, and the server does not see it
};

/// An answer of a server that has begun nothing, and says when to come back.
struct Busy {
    unsigned status = 429;
    unsigned seconds = 1;
    std::string words = "too many requests are waiting here";
    std::string reason{};
};

class Relay {
public:
    explicit Relay(const std::string& user, const std::string& name_space = "kube-system")
        : access_(kube::read_kubeconfig(*cluster_directory() + "/" + user + ".kubeconfig")),
          upstream_(access_.server, access_.tls, {.connect = 60s, .request = 60s}),
          server_([this](http::test::Connection& connection) { serve(connection); }) {
        access_.name_space = name_space;
    }

    [[nodiscard]] std::unique_ptr<kube::Api> connect() {
        kube::Access access = access_;
        access.server = http::Url::parse(server_.url());
        return std::make_unique<kube::Api>(std::move(access), http::Limits{.connect = 60s, .request = 60s});
    }

    /// As somebody else.
    void use_token(const std::string& token) { access_.authorization = "Bearer " + token; }

    /// What becomes of each request, by "METHOD TARGET".
    void decide(std::function<Fate(const std::string&)> fate) {
        const std::lock_guard lock(mutex_);
        fate_ = std::move(fate);
    }
    /// The next change is lost, or its answer is.
    void decide_next_change(Fate fate) {
        decide([fate, done = false](const std::string& request) mutable {
            if (done || request.starts_with("GET ") || request.ends_with("dryRun=All")) return Fate::passes;
            done = true;
            return fate;
        });
    }
    /// The client gets these answers instead of the server's; by "METHOD TARGET".
    void replace_answers(std::function<std::optional<http::Response>(const std::string&)> replace) {
        const std::lock_guard lock(mutex_);
        replace_ = std::move(replace);
    }
    [[nodiscard]] std::vector<std::string> take_requests() {
        const std::lock_guard lock(mutex_);
        return std::exchange(requests_, {});
    }
    /// What came late comes now. Returns the statuses.
    std::vector<unsigned> deliver() {
        std::vector<unsigned> statuses;
        for (const std::string& text : std::exchange(late_, {})) statuses.push_back(forward(text).status);
        return statuses;
    }

    /// What a request hears that is sent away. Set it before the client asks.
    Busy busy{};
    /// How many seconds later it is for the client.
    std::atomic<std::int64_t> clock_ahead = 0;
    /// The server answers with fewer objects of a list than it is asked for.
    std::atomic<bool> has_small_pages = false;

private:
    void serve(http::test::Connection& connection) {
        for (std::string text = connection.read_request(); !text.empty(); text = connection.read_request()) {
            const std::string line = text.substr(0, text.find(" HTTP/"));
            const Fate fate = note(line);
            if (fate == Fate::comes_late) late_.push_back(text);
            if (fate == Fate::is_lost || fate == Fate::comes_late) return;
            if (fate == Fate::is_sent_away) {
                connection.send(text_of(busy));
                continue;
            }
            http::Response answer = forward(text);
            if (auto other = replacement(line)) answer = *std::move(other);
            if (fate == Fate::loses_its_answer) return;
            std::string head = "HTTP/1.1 " + std::to_string(answer.status) +
                               " X\r\nContent-Length: " + std::to_string(answer.body.size()) + "\r\n";
            if (answer.date) head += date_header(*answer.date + clock_ahead);
            connection.send(head + "\r\n" + answer.body);
        }
    }
    static std::string text_of(const Busy& busy) {
        json::Writer status; // of meta/v1
        status.begin_object().member("kind", "Status").member("message", busy.words);
        status.member("reason", busy.reason).end_object();
        const std::string body = status.to_text();
        return "HTTP/1.1 " + std::to_string(busy.status) + " X\r\nRetry-After: " + std::to_string(busy.seconds) +
               "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    }
    Fate note(const std::string& line) {
        const std::lock_guard lock(mutex_);
        requests_.push_back(line);
        return fate_ ? fate_(line) : Fate::passes;
    }
    [[nodiscard]] std::optional<http::Response> replacement(const std::string& line) {
        const std::lock_guard lock(mutex_);
        return replace_ ? replace_(line) : std::nullopt;
    }
    [[nodiscard]] http::Response forward(const std::string& text) {
        const auto space = text.find(' ');
        const std::string method = text.substr(0, space);
        std::string target = text.substr(space + 1, text.find(" HTTP/") - space - 1);
        if (const auto limit = target.find("limit=500"); limit != std::string::npos && has_small_pages)
            target.replace(limit, std::string_view("limit=500").size(), "limit=3");
        http::Request request{.method = method, .target = std::move(target)};
        for (const char* name : {"Authorization", "Accept", "Content-Type"}) {
            const auto at = text.find(std::string("\r\n") + name + ": ");
            if (at == std::string::npos) continue;
            const auto value = at + std::string_view(name).size() + 4;
            request.headers.emplace_back(name, text.substr(value, text.find("\r\n", value) - value));
        }
        request.body = text.substr(text.find("\r\n\r\n") + 4);
        return upstream_.ask(request, soon());
    }
    static std::string date_header(std::int64_t date) {
        std::tm utc{};
        const std::time_t seconds = date;
        char text[64] = "";
        (void)::gmtime_r(&seconds, &utc);
        (void)std::strftime(text, sizeof text, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &utc);
        return text;
    }

    kube::Access access_;
    http::Client upstream_;
    std::mutex mutex_;
    std::function<Fate(const std::string&)> fate_;
    std::function<std::optional<http::Response>(const std::string&)> replace_;
    std::vector<std::string> requests_;
    std::vector<std::string> late_;
    http::test::ScriptedServer server_;
};

} // namespace rdmanet::cluster::test
