#include "model/fake_api.hpp"

#include "model/fibers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace rdmanet::model {

FakeServer* server = nullptr;

namespace {

using Json = nlohmann::json;
using kube::Outcome;
using kube::Refusal;

constexpr std::size_t kRemembered = 4;
constexpr std::string_view kMark = "rdmanet.cni/address-range";
constexpr std::string_view kMarkPath = "/metadata/annotations/rdmanet.cni~1address-range";

std::shared_ptr<const json::Document::Content> parsed;

std::string_view behind_slash(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}
std::string_view parent_of(std::string_view path) {
    return path.substr(0, path.rfind('/'));
}
std::string_view kind_of(std::string_view path) {
    return behind_slash(parent_of(path));
}
bool is_kind(std::string_view name) {
    constexpr std::array<std::string_view, 6> kKinds{
        "addressranges", "addressblocks", "nodes", "ippools", "overlappingrangeipreservations", "pods"};
    return std::find(kKinds.begin(), kKinds.end(), name) != kKinds.end();
}

Outcome refusal(Refusal why, unsigned status) {
    return kube::Refused{.why = why, .status = status, .message = "refused"};
}

std::string decoded(std::string_view text) {
    std::string plain;
    for (std::size_t at = 0; at < text.size(); ++at) {
        int code = static_cast<unsigned char>(text[at]);
        if (text[at] == '%') std::from_chars(&text[at + 1], &text[at + 3], code, 16), at += 2;
        plain += static_cast<char>(code);
    }
    return plain;
}

std::string parameter(std::string_view query, std::string_view name) {
    for (std::size_t at = 0; at < query.size();) {
        const std::size_t end = std::min(query.find('&', at), query.size());
        const std::string_view one = query.substr(at, end - at);
        if (one.starts_with(name) && one.substr(name.size()).starts_with('='))
            return decoded(one.substr(name.size() + 1));
        at = end + 1;
    }
    return {};
}

/// "KEY=VALUE", "KEY!=VALUE" or "KEY notin (VALUE,VALUE)"
bool is_selected(const Json& object, const std::string& selector) {
    if (selector.empty()) return true;
    const std::string key = selector.substr(0, selector.find_first_of("=! "));
    const auto labels = object["metadata"].find("labels");
    const std::string value = labels == object["metadata"].end() ? "" : labels->value(key, "");
    const std::string_view rest = std::string_view(selector).substr(key.size());
    if (rest.starts_with('=')) return rest.substr(1) == value;
    if (rest.starts_with("!=")) return rest.substr(2) != value;
    const auto listed = rest.substr(rest.find('(') + 1);
    return value.empty() || (listed.find(value + ",") == listed.npos && listed.find(value + ")") == listed.npos);
}

auto place_of(const State& state, const std::string& path) {
    return std::lower_bound(state.begin(), state.end(), path,
                            [](const auto& object, const std::string& wanted) { return object->path < wanted; });
}
std::shared_ptr<const Object> find_in(const State& state, const std::string& path) {
    const auto at = place_of(state, path);
    return at != state.end() && (*at)->path == path ? *at : nullptr;
}

/// Of a change of a block.
Rule rule_of_condition(const Request& request) {
    return request.is_of_reconcile ? Rule::taker_conditional : Rule::node_conditional;
}

bool is_mark_of(const Json& operations) {
    return std::any_of(operations.begin(), operations.end(), [](const Json& one) {
        return one["op"] == "add" && (one["path"] == kMarkPath || one["path"] == "/metadata/annotations");
    });
}

} // namespace

const Json* FakeServer::find(const std::string& path) const {
    const auto object = find_in(now_, path);
    return object ? &object->root : nullptr;
}

Outcome FakeServer::answer(std::shared_ptr<const json::Document::Content> content) const {
    parsed = std::move(content);
    return kube::Object{.content = json::Document::parse({}), .size = 1000, .date = scheduler_.now()};
}
Outcome FakeServer::answer(Json root) const {
    return answer(std::make_shared<const json::Document::Content>(json::Document::Content{std::move(root)}));
}

void FakeServer::change(State next) {
    past_.push_back(std::exchange(now_, std::move(next)));
    if (past_.size() > kRemembered) past_.pop_front();
}

void FakeServer::put(const std::string& path, Json object) {
    Json& metadata = object["metadata"];
    metadata["name"] = behind_slash(path);
    if (const auto at = path.find("/namespaces/"); at != std::string::npos)
        metadata["namespace"] = path.substr(at + 12, path.find('/', at + 12) - at - 12);
    const bool keeps_uid = is_off(Rule::claim_tests_uid) && kind_of(path) == "ippools";
    if (!metadata.contains("uid")) metadata["uid"] = keeps_uid ? "uid" : "uid-" + std::to_string(uid_++);
    metadata["resourceVersion"] = std::to_string(version_++);
    if (metadata.value("annotations", Json(1)).empty()) metadata.erase("annotations");
    auto made = std::make_shared<Object>();
    made->root = std::move(object);
    made->path = path;
    if (kind_of(path) == "addressranges") ranges_.push_back(made);
    State next = now_;
    const auto at = next.begin() + (place_of(next, path) - next.begin());
    if (at != next.end() && (*at)->path == path)
        *at = std::move(made);
    else
        next.insert(at, std::move(made));
    change(std::move(next));
}

void FakeServer::erase(const std::string& path) {
    State next = now_;
    std::erase_if(next, [&](const auto& object) { return object->path == path; });
    change(std::move(next));
}

void FakeServer::carry_out_late_request() {
    const Request request = std::move(late_.front());
    late_.pop_front();
    Asker nobody;
    (void)carry_out(request, nobody);
}

Outcome FakeServer::ask(Request request) {
    using http::TransportError;
    const auto fail = [](TransportError::Outcome outcome) {
        throw TransportError(http::Stage::http, outcome, "no answer");
    };
    if (request.path.ends_with("/status")) request.path.resize(request.path.rfind('/'));
    request.is_of_reconcile = scheduler_.asker().is_reconcile;
    if (kind_of(request.path) == "leases" || behind_slash(request.path) == "leases")
        return refusal(Refusal::forbidden, 403); // turns only save requests
    if (const auto question = request.path.find('?'); question != std::string::npos) {
        request.query = request.path.substr(question + 1);
        request.path.resize(question);
    }
    const Fate fate = scheduler_.decide(request);
    const bool is_change = request.method != "GET";
    if (fate == Fate::silent) fail(TransportError::Outcome::not_sent);
    if (is_change && (fate == Fate::killed_late || fate == Fate::late)) late_.push_back(request);
    if (fate == Fate::killed || fate == Fate::killed_late) Process::die();
    if (fate == Fate::late) fail(TransportError::Outcome::unknown);
    Outcome outcome = carry_out(request, scheduler_.asker());
    if (fate == Fate::lost) fail(TransportError::Outcome::unknown);
    return outcome;
}

Outcome FakeServer::carry_out(const Request& request, Asker& asker) {
    if (request.method == "GET") return get(request, asker);
    if (request.method == "POST") return post(request, asker);
    if (request.method == "PATCH") return patch(request);
    return remove(request);
}

Outcome FakeServer::get(const Request& request, Asker& asker) {
    const bool is_from_memory = parameter(request.query, "resourceVersion") == "0" || is_off(Rule::etcd);
    const std::size_t behind = is_from_memory ? std::min(scheduler_.lag(), past_.size()) : 0;
    const State& state = behind == 0 ? now_ : past_[past_.size() - behind];
    const std::string_view kind = behind_slash(request.path);
    if (is_kind(kind)) {
        const Rule its_rule = asker.has_seen_mark ? Rule::unmark_range_then_blocks : Rule::blocks_after_range;
        const bool hides_ranges = kind == "addressranges" && is_off(Rule::range_after_pool);
        const bool hides_blocks = kind == "addressblocks" && is_off(its_rule);
        if (asker.uses_pools && !is_from_memory && (hides_ranges || hides_blocks)) return list(request, {});
        if (asker.is_reconcile && kind == "ippools" && is_off(Rule::exclusive_pools)) return list(request, {});
        if (asker.is_reconcile && kind == "addressblocks" && is_off(Rule::exclusive_blocks)) return list(request, {});
        if (kind == "addressranges" && is_off(Rule::open_after_post))
            for (const auto& range : ranges_)
                if (range->root["metadata"]["uid"] == asker.posted_range) return list(request, {range});
        return list(request, state);
    }
    const auto object = find_in(state, request.path);
    if (!object) return refusal(Refusal::not_found, 404);
    if (kind_of(request.path) == "ippools") {
        if (asker.uses_pools)
            asker.has_seen_mark = object->root["metadata"].contains("annotations") &&
                                  object->root["metadata"]["annotations"].contains(kMark);
        if (!asker.uses_pools && is_off(Rule::leave_out)) {
            Json empty = object->root;
            empty["spec"]["allocations"] = Json::object();
            return answer(std::move(empty));
        }
    }
    return answer(object);
}

Outcome FakeServer::list(const Request& request, const State& state) const {
    const std::string_view kind = behind_slash(request.path);
    const bool is_of_one_namespace = request.path.find("/namespaces/") != std::string::npos;
    const std::string selector = parameter(request.query, "labelSelector");
    const std::string name = parameter(request.query, "fieldSelector"); // "metadata.name=NAME"
    Json items = Json::array();
    for (const auto& object : state) {
        const std::string_view parent = parent_of(object->path);
        if (is_of_one_namespace ? parent != request.path : behind_slash(parent) != kind) continue;
        if (!is_selected(object->root, selector)) continue;
        if (!name.empty() && behind_slash(object->path) != name.substr(name.find('=') + 1)) continue;
        switch (request.shape) {
        case kube::Shape::whole: items.push_back(object->root); break;
        case kube::Shape::metadata: items.push_back({{"metadata", object->root["metadata"]}}); break;
        case kube::Shape::table: items.push_back({{"cells", {object->root["metadata"]["name"]}}}); break;
        }
    }
    const char* const member = request.shape == kube::Shape::table ? "rows" : "items";
    return answer(Json{{"metadata", Json::object()}, {member, std::move(items)}});
}

Outcome FakeServer::post(const Request& request, Asker& asker) {
    if (parameter(request.query, "dryRun") == "All") return answer(request.body);
    const std::string path = request.path + "/" + request.body["metadata"]["name"].get_ref<const std::string&>();
    if (find_in(now_, path) && !is_off(Rule::remake_cut)) return refusal(Refusal::already_exists, 409);
    put(path, request.body);
    if (behind_slash(request.path) == "addressblocks") asker.posted_range = request.body["spec"]["rangeUID"];
    return answer(find_in(now_, path));
}

Outcome FakeServer::patch(const Request& request) {
    const auto found = find_in(now_, request.path);
    if (!found) return refusal(Refusal::not_found, 404);
    const bool is_pool = kind_of(request.path) == "ippools";
    if (is_pool && is_off(Rule::mark_first) && is_mark_of(request.body)) return answer(found);
    Json object = found->root;
    for (const Json& operation : request.body) {
        const auto& at = operation["path"].get_ref<const std::string&>();
        const auto& op = operation["op"].get_ref<const std::string&>();
        const Json::json_pointer pointer(at);
        if (op == "test") {
            if (is_pool && is_off(Rule::claim_tests_mark) && at.starts_with("/metadata/annotations")) continue;
            if (!is_pool && is_off(rule_of_condition(request))) continue;
            if ((object.contains(pointer) ? object.at(pointer) : Json()) != operation["value"])
                return refusal(Refusal::invalid, 422);
        } else if (op == "remove") {
            if (!object.contains(pointer)) return refusal(Refusal::invalid, 422);
            object.at(pointer.parent_pointer()).erase(pointer.back());
        } else {
            object[pointer] = operation["value"];
        }
    }
    const Json& metadata = object["metadata"];
    if (metadata.contains("deletionTimestamp") && metadata.value("finalizers", Json::array()).empty()) {
        erase(request.path);
        return answer(std::move(object));
    }
    put(request.path, std::move(object));
    return answer(find_in(now_, request.path));
}

Outcome FakeServer::remove(const Request& request) {
    const auto found = find_in(now_, request.path);
    if (!found) return refusal(Refusal::not_found, 404);
    Json object = found->root;
    const bool is_block = kind_of(request.path) == "addressblocks";
    const bool is_conditional = !is_block || !is_off(rule_of_condition(request));
    for (const auto& [member, value] : request.body.items())
        if (is_conditional && value != object["metadata"][member]) return refusal(Refusal::conflict, 409);
    if (object["metadata"].value("finalizers", Json::array()).empty()) {
        erase(request.path);
        if (is_block && request.is_of_reconcile) scheduler_.took(object);
        return answer(Json{{"kind", "Status"}});
    }
    object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    put(request.path, std::move(object));
    return answer(find_in(now_, request.path));
}

} // namespace rdmanet::model

namespace rdmanet {

json::Document json::Document::parse(std::string_view /*text*/) {
    return Document(model::parsed);
}

bool kube::Refused::is_temporary() const {
    return why == Refusal::conflict;
}

kube::Api::Api(Access access, http::Limits limits)
    : access_(std::move(access)), client_(access_.server, access_.tls, limits, access_.proxy) {}

kube::Outcome kube::Api::get(const std::string& path, const base::Deadline& /*deadline*/, Shape shape) {
    return model::server->ask({.method = "GET", .path = path, .shape = shape});
}

kube::Outcome kube::Api::create(const std::string& path, std::string body, const base::Deadline& /*deadline*/) {
    return model::server->ask({.method = "POST", .path = path, .body = nlohmann::json::parse(body)});
}

kube::Outcome kube::Api::patch(const std::string& path, std::string operations, const base::Deadline& /*deadline*/,
                               Shape /*shape*/) {
    return model::server->ask({.method = "PATCH", .path = path, .body = nlohmann::json::parse(operations)});
}

kube::Outcome kube::Api::remove(const std::string& path, const Preconditions& preconditions,
                                const base::Deadline& /*deadline*/) {
    nlohmann::json expected{{"uid", preconditions.uid}};
    if (!preconditions.resource_version.empty()) expected["resourceVersion"] = preconditions.resource_version;
    return model::server->ask({.method = "DELETE", .path = path, .body = std::move(expected)});
}

} // namespace rdmanet
