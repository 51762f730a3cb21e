#include <rdmanet/etcd/client.hpp>

#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/secret.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/http/pause.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>
#include <variant>

namespace rdmanet::etcd {
namespace {

using std::chrono::milliseconds;
using Kind = Failure::Kind;

constexpr int kMostRounds = 4; // over all endpoints
constexpr milliseconds kShortestPause{100};
constexpr std::size_t kMostBytes = 1U << 20U; // of a file

// gRPC's codes, which the gateway puts into its errors (google.golang.org/grpc/codes).
constexpr std::int64_t kPermissionDenied = 7;
constexpr std::int64_t kResourceExhausted = 8;
constexpr std::int64_t kUnauthenticated = 16;
// Codes after which a member may yet do what was asked: canceled, unknown, deadline exceeded, aborted, internal,
// unavailable, data loss. A leader that changes is "unavailable".
constexpr std::int64_t kUncertain[] = {1, 2, 4, 10, 13, 14, 15};

/// How etcd refuses: {"error": TEXT, "code": NUMBER}; later versions repeat the text as "message".
struct Refusal {
    unsigned status = 0;
    std::int64_t code = -1; // none: this is not etcd's gateway
    std::string message;

    [[nodiscard]] bool says(std::string_view text) const { return message.find(text) != std::string::npos; }
};

Refusal parse_refusal(const http::Response& response) {
    Refusal refusal{.status = response.status, .message = base::quoted(response.body)};
    try {
        const json::Document document = json::Document::parse(response.body);
        const json::Reader root = document.root();
        const std::int64_t code = root.at("code").integer(0, 16);
        refusal.message = root.at("error").string();
        refusal.code = code;
    } catch (const base::Error&) { // it stays as it is
    }
    return refusal;
}

/// Whoever writes networks may choose the path. Only what it should have leaves the node.
std::string read_named(std::string_view key, const std::string& path) {
    if (path.empty()) return {};
    try {
        if (auto text = base::read_named_file_if_exists(path, kMostBytes)) return *std::move(text);
    } catch (const base::Error& error) {
        throw Failure(Kind::permanent, fmt::format("etcd.{}: {}", key, error.what()));
    }
    throw Failure(Kind::permanent, fmt::format("etcd.{}: this node has no file {}: write it", key, path));
}

std::string read_password(const Servers& servers) {
    constexpr std::size_t kLongestPassword = 256;
    std::string password = read_named("passwordFile", servers.password_file);
    if (password.ends_with('\n')) password.pop_back();
    if (servers.username.empty() ||
        (!password.empty() && password.size() <= kLongestPassword && password.find('\n') == std::string::npos))
        return password;
    throw Failure(
        Kind::permanent,
        fmt::format("etcd.passwordFile: {}: expected one line with the password of user {}, of up to {} bytes",
                    servers.password_file, base::quoted(servers.username), kLongestPassword));
}

/// An error that another member, or the same one later, may not have.
struct Trouble {
    std::string text;
    bool may_have_been_done = false;
    bool is_answer = true;
    bool was_silent = false;
    std::chrono::seconds retry_after{0};
};

} // namespace

Access read_access(const Servers& servers) {
    Access access;
    try {
        for (const std::string& endpoint : servers.endpoints) access.endpoints.push_back(http::Url::parse(endpoint));
    } catch (const base::UrlError& error) {
        throw Failure(Kind::permanent, fmt::format("etcd.endpoints: {}", error.what()));
    }
    if (access.endpoints.empty()) throw Failure(Kind::permanent, "etcd.endpoints: expected at least one, found none");
    access.tls.authorities = read_named("ca", servers.ca);
    access.tls.certificate = read_named("cert", servers.certificate);
    access.tls.key = read_named("key", servers.key);
    access.username = servers.username;
    access.password = read_password(servers);
    return access;
}

class Client::Impl {
public:
    Impl(Access access, Memory memory, http::Limits limits)
        : access_(std::move(access)), memory_(std::move(memory)), limits_(limits) {
        for (std::size_t at = 0; at < access_.endpoints.size(); ++at)
            if (access_.endpoints[at].to_string() == memory_.endpoint) current_ = at;
        connections_.resize(access_.endpoints.size());
    }

    Answer run(const Transaction& transaction, const base::Deadline& deadline) {
        const std::string body = transaction.to_text();
        const http::Stopwatch watch;
        std::map<std::size_t, std::string> troubles; // the latest of each endpoint
        auto heard = Failure::Heard::from_nobody;
        for (int round = 1;; ++round) {
            auto wait = http::with_jitter(kShortestPause * (1 << round));
            for (std::size_t tried = 0; tried < access_.endpoints.size(); ++tried) {
                if (silent_.contains(current_)) {
                    next_endpoint();
                    continue;
                }
                auto outcome = try_once(transaction, body, deadline);
                if (auto* answer = std::get_if<Answer>(&outcome)) {
                    memory_.endpoint = here();
                    memory_.save();
                    return std::move(*answer);
                }
                auto& trouble = std::get<Trouble>(outcome);
                if (trouble.is_answer) heard = Failure::Heard::from_etcd;
                wait = std::max(wait, http::not_before(trouble.retry_after));
                if (trouble.was_silent) silent_[current_] = trouble.text;
                if (transaction.changes() && trouble.may_have_been_done) {
                    next_endpoint();
                    throw Failure(Kind::unknown, std::move(trouble.text));
                }
                troubles[current_] = std::move(trouble.text);
                next_endpoint();
                if (deadline.passed()) break;
            }
            if (round == kMostRounds || silent_.size() == access_.endpoints.size() || wait >= deadline.remaining())
                break;
            http::pause(wait);
        }
        troubles.merge(std::exchange(silent_, {}));
        std::string text;
        for (const auto& [endpoint, trouble] : troubles) text += fmt::format("{}{}", text.empty() ? "" : "; ", trouble);
        throw Failure(Kind::temporary, fmt::format("{}; tried for {} in all", text, watch.text()), heard);
    }

    [[nodiscard]] Memory& memory() { return memory_; }

private:
    using Outcome = std::variant<Answer, Trouble>;

    Outcome try_once(const Transaction& transaction, const std::string& body, const base::Deadline& deadline) {
        for (bool is_renewed = false;; is_renewed = true) {
            if (!access_.username.empty() && memory_.token.empty())
                if (auto trouble = log_in(deadline)) return *std::move(trouble);
            const auto outcome = ask("/v3/kv/txn", body, memory_.token, deadline);
            if (const auto* trouble = std::get_if<Trouble>(&outcome)) return *trouble;
            const auto& response = std::get<http::Response>(outcome);
            if (response.status == 200) return answer_in(response, transaction);
            const Refusal refusal = parse_refusal(response);
            // A member that was down may know neither the token nor the latest change of users.
            const bool wants_login = refusal.code == kUnauthenticated || refusal.says("invalid auth token") ||
                                     refusal.says("revision of auth store is old");
            if (!wants_login || access_.username.empty() || is_renewed) return judge(refusal, response);
            memory_.token.clear();
        }
    }

    [[nodiscard]] Outcome answer_in(const http::Response& response, const Transaction& transaction) const {
        try {
            Answer answer = parse_answer(response.body);
            if (answer.found.size() == transaction.reads(answer.succeeded)) return answer;
            return Trouble{fmt::format("{}: the answer has {} reads, expected {}", here(), answer.found.size(),
                                       transaction.reads(answer.succeeded)),
                           true};
        } catch (const base::Error& error) {
            return Trouble{
                fmt::format("{}: the answer is not etcd's: {}", here(), without_secrets(error.what(), memory_.token)),
                true};
        }
    }

    /// nullopt: memory_.token is new.
    std::optional<Trouble> log_in(const base::Deadline& deadline) {
        json::Writer body;
        body.begin_object().member("name", access_.username).member("password", access_.password).end_object();
        const auto outcome = ask("/v3/auth/authenticate", body.to_text(), {}, deadline);
        if (const auto* trouble = std::get_if<Trouble>(&outcome)) {
            Trouble before = *trouble;
            before.may_have_been_done = false;
            return before;
        }
        const auto& response = std::get<http::Response>(outcome);
        if (response.status != 200) {
            auto judged = judge(parse_refusal(response), response);
            judged.may_have_been_done = false;
            return judged;
        }
        try {
            memory_.token = json::Document::parse(response.body).root().at("token").string();
        } catch (const base::Error&) { // whose text may have a part of the token
            return Trouble{fmt::format("{}: the answer to the login has no token", here())};
        }
        if (std::any_of(memory_.token.begin(), memory_.token.end(),
                        [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; })) {
            memory_.token.clear();
            return Trouble{fmt::format("{}: the token that it gave can't be sent: it has control characters", here())};
        }
        memory_.save(); // a login costs etcd most of a tenth of a second (bcrypt)
        return std::nullopt;
    }

    std::variant<http::Response, Trouble> ask(const char* path, const std::string& body, const std::string& token,
                                              const base::Deadline& deadline) {
        http::Request request{.method = "POST",
                              .target = path,
                              .headers = {{"Content-Type", "application/json"}, {"User-Agent", "rdmanet"}},
                              .body = body};
        if (!token.empty()) request.headers.emplace_back("Authorization", token);
        try {
            http::Response response = connection().ask(request, deadline);
            if (response.status != 200) response.body = without_secrets(std::move(response.body), token);
            return response;
        } catch (const http::TransportError& error) {
            return Trouble{.text = error.what(),
                           .may_have_been_done = error.may_have_been_done(),
                           .is_answer = false,
                           .was_silent = error.was_silent()};
        }
    }

    http::Client& connection() {
        auto& connection = connections_[current_];
        try {
            if (!connection)
                connection = std::make_unique<http::Client>(access_.endpoints[current_], access_.tls, limits_);
        } catch (const http::ConfigurationError& error) {
            throw Failure(Kind::permanent, fmt::format("etcd: {}", error.what()));
        }
        return *connection;
    }

    /// What to do about a refusal: a Trouble if trying again may help; throws otherwise.
    Trouble judge(const Refusal& refusal, const http::Response& response) const {
        const std::string text = fmt::format("{}: etcd: {}", here(), refusal.message);
        if (refusal.code < 0 && response.is_sent_away()) // by a proxy or balancer before etcd
            return {.text = fmt::format("{}: HTTP {}: {}", here(), refusal.status, refusal.message),
                    .retry_after = response.retry_after.value_or(std::chrono::seconds(0))};
        if (refusal.says("CommonName of client"))
            throw Failure(Kind::permanent,
                          fmt::format("{}: use a certificate without a CommonName in etcd.cert", text));
        if (refusal.code < 0 && refusal.status < 500)
            throw Failure(Kind::permanent,
                          fmt::format("{}: HTTP {}: {}: this is not the JSON gateway of etcd 3.4 or later: correct "
                                      "etcd.endpoints",
                                      here(), refusal.status, refusal.message));
        if (refusal.says("database space exceeded"))
            throw Failure(Kind::temporary,
                          fmt::format("{}: compact and defragment it, then run `etcdctl alarm disarm`", text));
        if (refusal.code == kResourceExhausted) return {text, false}; // "too many requests"
        if (refusal.code < 0 ||
            std::find(std::begin(kUncertain), std::end(kUncertain), refusal.code) != std::end(kUncertain))
            return {text, true};
        throw Failure(Kind::permanent, fmt::format("{}{}", text, fix_for(refusal)));
    }

    [[nodiscard]] std::string fix_for(const Refusal& refusal) const {
        if (refusal.says("user name is empty") || (refusal.code == kPermissionDenied && access_.username.empty()))
            return ": set etcd.username and etcd.passwordFile";
        if (refusal.code == kPermissionDenied)
            return fmt::format(": give user {} a role with `etcdctl role grant-permission ROLE --prefix=true readwrite "
                               "PREFIX/`, PREFIX being etcd.prefix",
                               base::quoted(access_.username));
        if (refusal.says("authentication is not enabled"))
            return ": run `etcdctl auth enable`, or remove etcd.username and etcd.passwordFile";
        if (refusal.says("authentication failed"))
            return fmt::format(": correct the password of user {} in etcd.passwordFile",
                               base::quoted(access_.username));
        return {};
    }

    /// Whatever answers there may repeat the request.
    [[nodiscard]] std::string without_secrets(std::string text, const std::string& token) const {
        return base::without_secret(base::without_secret(std::move(text), access_.password), token);
    }

    [[nodiscard]] std::string here() const { return access_.endpoints[current_].to_string(); }
    void next_endpoint() { current_ = (current_ + 1) % access_.endpoints.size(); }

    Access access_;
    Memory memory_;
    http::Limits limits_;
    std::size_t current_ = 0;
    std::map<std::size_t, std::string> silent_; // endpoints that did not answer in time, and what was said of that
    std::vector<std::unique_ptr<http::Client>> connections_; // by endpoint, made when they are needed
};

Client::Client(Access access, Memory memory, http::Limits limits)
    : impl_(std::make_shared<Impl>(std::move(access), std::move(memory), limits)) {}

Answer Client::run(const Transaction& transaction, const base::Deadline& deadline) {
    return impl_->run(transaction, deadline);
}

Memory& Client::memory() {
    return impl_->memory();
}

} // namespace rdmanet::etcd
