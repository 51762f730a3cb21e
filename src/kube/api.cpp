#include <rdmanet/kube/api.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/secret.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/writer.hpp>

#include <algorithm>

namespace rdmanet::kube {
namespace {

using std::chrono::milliseconds;

constexpr const char* kMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
constexpr const char* kMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
constexpr const char* kTable = "application/json;as=Table;g=meta.k8s.io;v=v1";
constexpr int kMostTries = 4;
constexpr milliseconds kShortestPause{100};
constexpr milliseconds kTimeForAnswer{250}; // with less, who is sent away would hear nothing at all

/// Of a Status (apimachinery, meta/v1); empty if it has none.
std::string member_of(const std::string& body, std::string_view key) try {
    const json::Document status = json::Document::parse(body);
    const auto member = status.root().find(key);
    return member ? member->string() : std::string();
} catch (const base::Error&) {
    return {};
}

/// What of a server's text a message has. Whatever answers there may repeat the request, with its credentials, and may
/// send megabytes. Those are not searched, which takes the square of their number, if all are backslashes.
std::string shown(std::string text, const Access& access) {
    constexpr std::size_t kMostSearched = 16384;
    constexpr std::size_t kMostShown = 1024;
    return base::shortened(
        base::without_authorization(base::shortened(std::move(text), kMostSearched), access.authorization), kMostShown);
}

/// A server that has just started knows bindings before the roles that they name: "... is forbidden: User ... cannot
/// get ...: RBAC: clusterrole.rbac.authorization.k8s.io "rdmanet" not found" (plugin/pkg/auth/authorizer/rbac,
/// RuleResolver).
bool knows_no_roles_yet(const http::Response& response) {
    if (response.status != 403) return false;
    const auto reason = response.body.find(": RBAC: ");
    return reason != std::string::npos && response.body.find(" not found", reason) != std::string::npos;
}

Refusal refusal_of(unsigned status, const std::string& body) {
    switch (status) {
    case 401: return Refusal::unauthorized;
    case 403: return Refusal::forbidden;
    case 404: return Refusal::not_found;
    case 408: return Refusal::unavailable;
    case 409: return member_of(body, "reason") == "AlreadyExists" ? Refusal::already_exists : Refusal::conflict;
    case 413: return Refusal::too_large;
    case 422: return Refusal::invalid;
    case 429: return Refusal::too_many;
    default: break;
    }
    // etcd's limit comes as an internal error (etcd, rpctypes.ErrRequestTooLarge).
    if (status == 500 && body.find("request is too large") != std::string::npos) return Refusal::too_large;
    return status >= 500 ? Refusal::unavailable : Refusal::other;
}

} // namespace

bool Refused::is_temporary() const {
    return why == Refusal::too_many || why == Refusal::unavailable || why == Refusal::conflict || status == kExpired;
}

Api::Api(Access access, http::Limits limits)
    : access_(std::move(access)), client_(access_.server, access_.tls, limits, access_.proxy) {}

Outcome Api::get(const std::string& path, const base::Deadline& deadline, Shape shape) {
    http::Request request{.method = "GET", .target = path};
    if (shape == Shape::metadata)
        request.headers.emplace_back("Accept", path.find('?') == std::string::npos ? kMetadata : kMetadataList);
    if (shape == Shape::table) request.headers.emplace_back("Accept", kTable);
    return ask(request, deadline);
}

Outcome Api::create(const std::string& path, std::string body, const base::Deadline& deadline) {
    return ask(
        {.method = "POST", .target = path, .headers = {{"Content-Type", "application/json"}}, .body = std::move(body)},
        deadline);
}

Outcome Api::patch(const std::string& path, std::string operations, const base::Deadline& deadline, Shape shape) {
    return ask({.method = "PATCH",
                .target = path,
                .headers = {{"Content-Type", "application/json-patch+json"},
                            {"Accept", shape == Shape::metadata ? kMetadata : "application/json"}},
                .body = std::move(operations)},
               deadline);
}

Outcome Api::remove(const std::string& path, const Preconditions& preconditions, const base::Deadline& deadline) {
    json::Writer options;
    options.begin_object().member("kind", "DeleteOptions").member("apiVersion", "v1");
    options.key("preconditions").begin_object().member("uid", preconditions.uid);
    if (!preconditions.resource_version.empty()) options.member("resourceVersion", preconditions.resource_version);
    options.end_object().end_object();
    return ask({.method = "DELETE",
                .target = path,
                .headers = {{"Content-Type", "application/json"}},
                .body = options.to_text()},
               deadline);
}

Outcome Api::ask(const http::Request& request, const base::Deadline& deadline) {
    http::Request complete = request;
    if (!access_.authorization.empty()) complete.headers.emplace_back("Authorization", access_.authorization);
    complete.headers.emplace_back("User-Agent", "rdmanet");
    const bool accepts_anything =
        std::ranges::none_of(request.headers, [](const auto& header) { return header.first == "Accept"; });
    if (accepts_anything) complete.headers.emplace_back("Accept", "application/json");
    const http::Stopwatch watch;
    for (int attempt = 1;; ++attempt) {
        milliseconds wait = http::with_jitter(kShortestPause * (1 << attempt));
        const auto may_wait = [&] { return attempt < kMostTries && wait + kTimeForAnswer < deadline.remaining(); };
        try {
            const http::Response response = base::in_context(fmt::format("{} {}", request.method, request.target),
                                                             [&] { return client_.ask(complete, deadline); });
            if (response.status / 100 == 2)
                return Object{
                    .content = parsed(request, response), .size = response.body.size(), .date = response.date};
            wait = std::max(wait, http::not_before(response.retry_after.value_or(std::chrono::seconds(0))));
            const bool has_not_begun = response.is_sent_away() || knows_no_roles_yet(response);
            if (!has_not_begun || !may_wait()) return refused(request, response, watch);
        } catch (const http::TransportError& error) {
            const bool may_repeat = request.method == "GET" || !error.may_have_been_done();
            if (!error.was_cut() || !may_repeat || !may_wait()) throw;
        }
        http::pause(wait);
    }
}

/// Something between us and the server has answered, or has cut the answer: what the server did is not known.
json::Document Api::parsed(const http::Request& request, const http::Response& response) const try {
    return json::Document::parse(response.body);
} catch (const json::ParseError& error) {
    throw http::TransportError(http::Stage::http, http::TransportError::Outcome::unknown,
                               fmt::format("{}: {} {}: HTTP {}, and the answer is not JSON ({}): check which server "
                                           "answers there",
                                           client_.url(), request.method, request.target, response.status,
                                           shown(error.what(), access_)));
}

Refused Api::refused(const http::Request& request, const http::Response& response, const http::Stopwatch& watch) const {
    std::string said = shown(member_of(response.body, "message"), access_);
    if (said.empty()) said = base::quoted(shown(response.body, access_));
    const bool changes = request.method != "GET";
    return {.why = refusal_of(response.status, response.body),
            .status = response.status,
            .message = fmt::format("{}: {} {}: HTTP {}: {}, after {}", client_.url(), request.method, request.target,
                                   response.status, said, watch.text()),
            .may_have_been_done = changes && response.status >= 500 && !response.retry_after};
}

} // namespace rdmanet::kube
