// An API server in memory, behind the header of kube::Api: linearizable, with finalizers, preconditions, JSON patches and
// labels, and with a memory that may be out of date. Every request is one step, at which a scheduler decides what happens.
#pragma once

#include <nlohmann/json.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace rdmanet::model {

/// Thrown at a request: the process ends there.
struct Killed {};

/// What becomes of a request.
enum class Fate {
    answered,
    killed,      // before it was sent
    killed_late, // after it was sent: it is carried out later
    lost,        // it is carried out, and the answer is lost
    late,        // there is no answer, and it is carried out later
    silent,      // nobody answers
};

using Objects = std::map<std::string, nlohmann::json>; // by path

class FakeServer {
public:
    /// Decides about a request that is about to be carried out: "GET /path".
    std::function<Fate(const std::string& request)> decide = [](const std::string&) { return Fate::answered; };
    /// How many changes the answer from memory is behind; at most as many as are remembered.
    std::function<std::size_t()> lag = [] { return std::size_t{0}; };
    /// Rules that are switched off: what the product tests or reads is a lie then.
    std::function<bool(const std::string& rule)> is_off = [](const std::string&) { return false; };
    std::function<void(const std::string&)> trace = [](const std::string&) {};

    [[nodiscard]] const Objects& objects() const { return *now_; }
    void put(const std::string& path, nlohmann::json object);
    void erase(const std::string& path);
    /// As the state was; for a backup.
    [[nodiscard]] std::shared_ptr<const Objects> state() const { return now_; }
    void restore(std::shared_ptr<const Objects> state);

    [[nodiscard]] bool has_late_request() const { return !late_.empty(); }
    void carry_out_late_request();
    void forget_late_requests() { late_.clear(); }

    struct Answer {
        unsigned status = 200;
        nlohmann::json body;
    };
    /// Throws Killed, and http::TransportError.
    Answer ask(const std::string& method, const std::string& target, const nlohmann::json& body);

    std::size_t requests = 0;

private:
    struct Request {
        std::string method;
        std::string target;
        nlohmann::json body;
    };
    Answer carry_out(const Request& request);
    Answer get(const Request& request);
    Answer list(const std::string& path, const std::string& query, const Objects& objects);
    Answer post(const Request& request);
    Answer patch(const Request& request);
    Answer remove(const Request& request);
    void change(Objects next);

    std::shared_ptr<const Objects> now_ = std::make_shared<const Objects>();
    std::deque<std::shared_ptr<const Objects>> past_;
    std::deque<Request> late_;
    long version_ = 100;
    long uid_ = 1;
};

/// The one that kube::Api asks.
extern FakeServer* server;

} // namespace rdmanet::model
