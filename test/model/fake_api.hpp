// An API server in memory, behind the header of kube::Api: linearizable, with finalizers, preconditions, JSON patches
// and labels, and with a memory that may be out of date. Every request is one step, at which a scheduler decides what
// happens.
#pragma once

#include "model/rules.hpp"

#include <rdmanet/json/reader.hpp>
#include <rdmanet/kube/api.hpp>

#include <nlohmann/json.hpp>

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// As src/json/reader.cpp has it. Answers share what the server has, so that nobody prints and parses it.
struct rdmanet::json::Document::Content {
    nlohmann::json root;
};

namespace rdmanet::model {

/// What becomes of a request. One that is killed or late may have been sent before: then it is carried out later.
enum class Fate { answered, killed, killed_late, lost, late, silent };

struct Object : json::Document::Content {
    std::string path;
};
using State = std::vector<std::shared_ptr<const Object>>; // by path

struct Request {
    std::string_view method;
    std::string path;
    std::string query{};
    nlohmann::json body{};
    kube::Shape shape = kube::Shape::whole;
    bool is_of_reconcile = false;
};

/// Who asks, and what it has seen: a rule that is switched off is a lie to somebody.
struct Asker {
    bool is_reconcile = false;
    bool uses_pools = false;    // or blocks
    bool has_seen_mark = false; // of a pool
    std::string posted_range{}; // the UID that its last new block has
};

/// Decides about requests.
class Scheduler {
public:
    virtual ~Scheduler() = default;
    virtual Fate decide(const Request& request) = 0;
    /// How many changes the answer from the server's memory is behind.
    virtual std::size_t lag() = 0;
    virtual Asker& asker() = 0;
    /// Reconcile has taken this block from its node.
    virtual void took(const nlohmann::json& block) = 0;
    /// The server's clock.
    virtual std::int64_t now() = 0;
};

class FakeServer {
public:
    FakeServer(Scheduler& scheduler, Rule without) : scheduler_(scheduler), without_(without) {}

    [[nodiscard]] const nlohmann::json* find(const std::string& path) const;
    void put(const std::string& path, nlohmann::json object);
    void erase(const std::string& path);

    [[nodiscard]] bool has_late_request() const { return !late_.empty(); }
    void carry_out_late_request();

    /// Throws Killed, and http::TransportError.
    kube::Outcome ask(Request request);

private:
    kube::Outcome carry_out(const Request& request, Asker& asker);
    kube::Outcome get(const Request& request, Asker& asker);
    [[nodiscard]] kube::Outcome answer(std::shared_ptr<const json::Document::Content> content) const;
    [[nodiscard]] kube::Outcome answer(nlohmann::json root) const;
    [[nodiscard]] kube::Outcome list(const Request& request, const State& state) const;
    kube::Outcome post(const Request& request, Asker& asker);
    kube::Outcome patch(const Request& request);
    kube::Outcome remove(const Request& request);
    [[nodiscard]] bool is_off(Rule rule) const { return rule == without_; }
    void change(State next);

    Scheduler& scheduler_;
    Rule without_;
    State now_;
    std::deque<State> past_;
    std::deque<Request> late_;
    State ranges_; // all that ever were
    long version_ = 100;
    long uid_ = 1;
};

/// The one that kube::Api asks.
extern FakeServer* server;

} // namespace rdmanet::model
