#include <rdmanet/verify/report.hpp>

#include <algorithm>

namespace rdmanet::verify {

std::string_view to_string(Outcome outcome) {
    switch (outcome) {
    case Outcome::ok: return "ok";
    case Outcome::warning: return "warning";
    case Outcome::failure: break;
    }
    return "failure";
}

std::string_view to_string(Scope scope) {
    switch (scope) {
    case Scope::device: return "device";
    case Scope::node: return "node";
    case Scope::network: break;
    }
    return "network";
}

std::string_view to_string(Role role) {
    return role == Role::client ? "client" : "server";
}

std::string_view to_string(Verdict verdict) {
    switch (verdict) {
    case Verdict::proven: return "proven";
    case Verdict::limited: return "limited";
    case Verdict::failed: break;
    }
    return "failed";
}

Scope Report::scope() const {
    if (!peer || peer->boot_id != here.boot_id) return Scope::network;
    return here.is_same_as(*peer) ? Scope::device : Scope::node;
}

double Report::rate() const {
    return peer && peer->rate > 0 ? std::min(here.rate, peer->rate) : here.rate;
}

bool Report::is_slow() const {
    constexpr double kPercent = 100;
    return bandwidth && scope() != Scope::device && bandwidth->rate * kPercent < rate() * expected;
}

Verdict Report::verdict() const {
    if (cause || worst_of(checks) == Outcome::failure || !ping || !bandwidth || !latency) return Verdict::failed;
    return is_slow() || worst_of(checks) == Outcome::warning ? Verdict::limited : Verdict::proven;
}

} // namespace rdmanet::verify
