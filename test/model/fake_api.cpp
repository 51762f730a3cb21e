#include "model/fake_api.hpp"

#include <rdmanet/kube/api.hpp>

#include <algorithm>
#include <set>
#include <vector>

namespace rdmanet::model {

FakeServer* server = nullptr;

namespace {

using nlohmann::json;

constexpr std::size_t kRemembered = 6;
constexpr const char* kMarkPath = "/metadata/annotations/rdmanet.cni~1address-range";

bool is_kind(const std::string& path) {
    static const std::set<std::string> kKinds{"addressranges", "addressblocks", "nodes", "ippools",
                                              "overlappingrangeipreservations"};
    return kKinds.contains(path.substr(path.rfind('/') + 1));
}

std::string kind_of(const std::string& path) {
    const std::string parent = path.substr(0, path.rfind('/'));
    return parent.substr(parent.rfind('/') + 1);
}

FakeServer::Answer refusal(unsigned status, const std::string& reason) {
    return {.status = status, .body = {{"kind", "Status"}, {"reason", reason}, {"message", reason}}};
}

std::string decoded(const std::string& text) {
    std::string plain;
    for (std::size_t at = 0; at < text.size(); ++at)
        if (text[at] == '%')
            plain += static_cast<char>(std::stoi(text.substr(at + 1, 2), nullptr, 16)), at += 2;
        else
            plain += text[at];
    return plain;
}

std::string parameter(const std::string& query, const std::string& name) {
    const auto at = ("&" + query).find("&" + name + "=");
    if (at == std::string::npos) return {};
    const auto begin = at + name.size() + 1;
    return decoded(query.substr(begin, query.find('&', begin) - begin));
}

bool is_selected(const json& object, const std::string& selector) {
    if (selector.empty()) return true;
    const bool is_not = selector.find("!=") != std::string::npos;
    const auto at = selector.find(is_not ? "!=" : "=");
    const json labels = object["metadata"].value("labels", json::object());
    const bool has = labels.value(selector.substr(0, at), "") == selector.substr(at + (is_not ? 2 : 1));
    return has != is_not;
}

} // namespace

void FakeServer::change(Objects next) {
    past_.push_back(now_);
    if (past_.size() > kRemembered) past_.pop_front();
    now_ = std::make_shared<const Objects>(std::move(next));
}

void FakeServer::put(const std::string& path, json object) {
    Objects next = *now_;
    json& metadata = object["metadata"];
    metadata["name"] = path.substr(path.rfind('/') + 1);
    if (const auto at = path.find("/namespaces/"); at != std::string::npos)
        metadata["namespace"] = path.substr(at + 12, path.find('/', at + 12) - at - 12);
    if (!metadata.contains("uid")) metadata["uid"] = "uid-" + std::to_string(uid_++);
    metadata["resourceVersion"] = std::to_string(version_++);
    next[path] = std::move(object);
    change(std::move(next));
}

void FakeServer::erase(const std::string& path) {
    Objects next = *now_;
    next.erase(path);
    change(std::move(next));
}

void FakeServer::restore(std::shared_ptr<const Objects> state) {
    past_.clear();
    now_ = std::move(state);
}

void FakeServer::carry_out_late_request() {
    const Request request = late_.front();
    late_.pop_front();
    trace("    late: " + request.method + " " + request.target);
    (void)carry_out(request);
}

FakeServer::Answer FakeServer::ask(const std::string& method, const std::string& target, const json& body) {
    const Request request{.method = method, .target = target, .body = body};
    using http::TransportError;
    const auto fail = [&](TransportError::Outcome outcome) {
        throw TransportError(http::Stage::http, outcome, method + " " + target + ": no answer");
    };
    ++requests;
    const Fate fate = decide(method + " " + target);
    const bool is_change = method != "GET";
    if (fate == Fate::killed) throw Killed{};
    if (fate == Fate::killed_late) {
        if (is_change) late_.push_back(request);
        throw Killed{};
    }
    if (fate == Fate::silent) fail(TransportError::Outcome::not_sent);
    if (fate == Fate::late && is_change) {
        late_.push_back(request);
        fail(TransportError::Outcome::unknown);
    }
    Answer answer = carry_out(request);
    if (fate == Fate::lost) fail(TransportError::Outcome::unknown);
    return answer;
}

FakeServer::Answer FakeServer::carry_out(const Request& request) {
    if (request.method == "GET") return get(request);
    if (request.method == "POST") return post(request);
    if (request.method == "PATCH") return patch(request);
    return remove(request);
}

FakeServer::Answer FakeServer::get(const Request& request) {
    const auto question = request.target.find('?');
    const std::string path = decoded(request.target.substr(0, question));
    const std::string query = question == std::string::npos ? "" : request.target.substr(question + 1);
    std::shared_ptr<const Objects> source = now_;
    if (parameter(query, "resourceVersion") == "0") {
        const std::size_t behind = std::min(lag(), past_.size());
        if (behind != 0) source = past_[past_.size() - behind];
    }
    if (is_kind(path)) return list(path, query, *source);
    const auto found = source->find(path);
    return found == source->end() ? refusal(404, "NotFound") : Answer{.body = found->second};
}

FakeServer::Answer FakeServer::list(const std::string& path, const std::string& query, const Objects& objects) {
    const std::string kind = path.substr(path.rfind('/') + 1);
    const bool is_table = parameter(query, "includeObject") == "None";
    json items = json::array();
    for (const auto& [its_path, object] : objects) {
        const bool is_in = kind_of(its_path) == kind && (path.find("/namespaces/") == std::string::npos ||
                                                        its_path.substr(0, its_path.rfind('/')) == path);
        if (!is_in || !is_selected(object, parameter(query, "labelSelector"))) continue;
        items.push_back(is_table ? json{{"cells", {object["metadata"]["name"]}}} : object);
    }
    return {.body = {{"metadata", json::object()}, {is_table ? "rows" : "items", std::move(items)}}};
}

FakeServer::Answer FakeServer::post(const Request& request) {
    const std::string path = request.target + "/" + request.body["metadata"]["name"].get<std::string>();
    if (now_->contains(path)) return refusal(409, "AlreadyExists");
    put(path, request.body);
    return {.status = 201, .body = now_->at(path)};
}

FakeServer::Answer FakeServer::patch(const Request& request) {
    const std::string path = decoded(request.target);
    const auto found = now_->find(path);
    if (found == now_->end()) return refusal(404, "NotFound");
    json object = found->second;
    for (const json& operation : request.body) {
        const std::string at = operation["path"];
        const std::string op = operation["op"];
        const json::json_pointer pointer(at);
        if (op == "test") {
            const bool is_mark = at == kMarkPath || at == "/metadata/annotations";
            if (is_mark && is_off("claim-tests-mark")) continue;
            if (at == "/metadata/uid" && is_off("claim-tests-uid")) continue;
            const json present = object.contains(pointer) ? object.at(pointer) : json();
            if (present != operation["value"]) return refusal(422, "Invalid");
        } else if (op == "remove") {
            object = object.patch(json::array({operation}));
        } else {
            object[pointer] = operation["value"];
        }
    }
    const json metadata = object["metadata"];
    if (metadata.contains("deletionTimestamp") && metadata.value("finalizers", json::array()).empty()) {
        erase(path);
        return {.body = object};
    }
    object["metadata"].erase("resourceVersion");
    put(path, object);
    return {.body = now_->at(path)};
}

FakeServer::Answer FakeServer::remove(const Request& request) {
    const std::string path = decoded(request.target);
    const auto found = now_->find(path);
    if (found == now_->end()) return refusal(404, "NotFound");
    json object = found->second;
    const json expected = request.body.value("preconditions", json::object());
    for (const char* member : {"uid", "resourceVersion"})
        if (expected.contains(member) && expected[member] != object["metadata"][member])
            return refusal(409, "Conflict");
    if (object["metadata"].value("finalizers", json::array()).empty()) {
        erase(path);
        return {.body = {{"kind", "Status"}}};
    }
    object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    put(path, object);
    return {.body = now_->at(path)};
}

} // namespace rdmanet::model

namespace rdmanet::kube {

namespace {

Outcome outcome_of(const model::FakeServer::Answer& answer, const std::string& method) {
    if (answer.status / 100 == 2) {
        const std::string text = answer.body.dump();
        return Object{.content = json::Document::parse(text), .size = text.size(), .date = 1'700'000'000};
    }
    const std::string reason = answer.body["reason"];
    const Refusal why = answer.status == 404      ? Refusal::not_found
                        : reason == "AlreadyExists" ? Refusal::already_exists
                        : answer.status == 409      ? Refusal::conflict
                        : answer.status == 422      ? Refusal::invalid
                                                    : Refusal::other;
    return Refused{.why = why, .status = answer.status, .message = method + ": " + reason};
}

} // namespace

bool Refused::is_temporary() const {
    return why == Refusal::conflict;
}

Api::Api(Access access, http::Limits limits)
    : access_(std::move(access)), client_(access_.server, access_.tls, limits, access_.proxy) {}

Outcome Api::get(const std::string& path, const base::Deadline& /*deadline*/, Shape /*shape*/) {
    return outcome_of(model::server->ask("GET", path, {}), "GET");
}

Outcome Api::create(const std::string& path, std::string body, const base::Deadline& /*deadline*/) {
    return outcome_of(model::server->ask("POST", path, nlohmann::json::parse(body)), "POST");
}

Outcome Api::patch(const std::string& path, std::string operations, const base::Deadline& /*deadline*/,
                   Shape /*shape*/) {
    return outcome_of(model::server->ask("PATCH", path, nlohmann::json::parse(operations)), "PATCH");
}

Outcome Api::remove(const std::string& path, const Preconditions& preconditions, const base::Deadline& /*deadline*/) {
    nlohmann::json expected{{"uid", preconditions.uid}};
    if (!preconditions.resource_version.empty()) expected["resourceVersion"] = preconditions.resource_version;
    return outcome_of(model::server->ask("DELETE", path, {{"preconditions", expected}}), "DELETE");
}

} // namespace rdmanet::kube
