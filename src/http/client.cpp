#include <rdmanet/http/client.hpp>

#include "answer.hpp"
#include "socket.hpp"
#include "tls.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/secret.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/http/pause.hpp>

#include <algorithm>
#include <array>
#include <variant>

namespace rdmanet::http {
namespace {

using Outcome = TransportError::Outcome;

std::string_view to_string(Stage stage) {
    switch (stage) {
    case Stage::dns: return "DNS";
    case Stage::tcp: return "TCP";
    case Stage::tls: return "TLS";
    case Stage::http: return "HTTP";
    }
    return "";
}

/// GET and HEAD (RFC 9110, section 9.2.1).
bool is_safe(std::string_view method) {
    return method == "GET" || method == "HEAD";
}

std::string text_of(const Request& request, const Url& url) {
    std::string text =
        fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\n", request.method, url.base, request.target, url.authority());
    for (const auto& [name, value] : request.headers) text += fmt::format("{}: {}\r\n", name, value);
    if (!request.body.empty()) text += fmt::format("Content-Length: {}\r\n", request.body.size());
    return fmt::format("{}\r\n{}", text, request.body);
}

/// Of the characters of a path and a query (RFC 3986, sections 3.3 and 3.4). Others may end the line or the path.
void require_encoded(std::string_view target) {
    constexpr std::string_view kOthers = "-._~!$&'()*+,;=:@/?%";
    const auto is_allowed = [&](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               kOthers.find(c) != std::string_view::npos;
    };
    if (!target.starts_with('/') || !std::all_of(target.begin(), target.end(), is_allowed))
        throw ConfigurationError(
            fmt::format("request {}: expected a path of letters, digits and {}", base::quoted(target), kOthers));
}

/// A proxy's answer, up to the empty line. Nothing follows it: TLS begins with the client.
std::string read_head(Socket& socket, const base::Deadline& deadline) {
    constexpr std::size_t kMostBytes = 16384;
    std::string head;
    std::array<char, 1024> buffer;
    while (head.find("\r\n\r\n") == std::string::npos) {
        const std::size_t count = socket.read_some(buffer, deadline);
        if (count == 0 || head.size() > kMostBytes)
            throw Failure{Stage::http, "it did not answer with a header of HTTP",
                          count == 0 ? Cause::end : Cause::other};
        head.append(buffer.data(), count);
    }
    return head;
}

/// "HTTP/1.1 200 Connection established" (RFC 9112, section 4). `authorization`: what the proxy may repeat.
void require_tunnel(std::string_view head, std::string_view authorization) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    if (!line.starts_with("HTTP/1.")) throw Failure{Stage::http, "it did not answer with a header of HTTP"};
    const std::string_view status = line.substr(std::min(line.find(' '), line.size()));
    if (!status.starts_with(" 2"))
        throw Failure{Stage::http,
                      fmt::format("it refuses to connect: {}",
                                  base::quoted(base::without_authorization(std::string(line), authorization)))};
}

} // namespace

class Client::Impl {
public:
    Impl(Url url, TlsSettings tls, Limits limits, std::optional<Proxy> proxy)
        : url_(std::move(url)), tls_(std::move(tls)), limits_(limits), proxy_(std::move(proxy)),
          context_(url_.is_secure ? make_tls_context(tls_) : TlsContext()) {}

    Response ask(const Request& request, const base::Deadline& deadline) {
        require_encoded(request.target);
        const bool was_open = !std::holds_alternative<std::monostate>(stream_);
        try {
            return ask_once(request, deadline);
        } catch (const TransportError& error) {
            const bool may_repeat = is_safe(request.method) || !error.may_have_been_done();
            if (!was_open || !may_repeat || error.was_silent() || deadline.passed()) throw;
        }
        return ask_once(request, deadline);
    }

    [[nodiscard]] const Url& url() const { return url_; }

private:
    template <class Act>
    decltype(auto) visit(Act act) {
        if (auto* plain = std::get_if<Socket>(&stream_)) return act(*plain);
        return act(*std::get<std::unique_ptr<TlsStream>>(stream_));
    }

    Response ask_once(const Request& request, const base::Deadline& deadline) {
        const Stopwatch watch;
        Outcome outcome = Outcome::not_sent;
        try {
            connect(deadline);
            const base::Deadline end = deadline.at_most(limits_.request);
            outcome = Outcome::unknown;
            const std::string text = text_of(request, url_);
            visit([&](auto& stream) { stream.write_all(text, end); });
            return read_answer(end);
        } catch (const Failure& failure) {
            stream_ = std::monostate();
            const bool had_no_time = failure.cause == Cause::silence && deadline.passed();
            throw TransportError(
                failure.stage, failure.cause == Cause::end_unsent ? Outcome::not_sent : outcome,
                fmt::format("{}: {}: {}, after {}", url_, to_string(failure.stage), failure.why, watch.text()),
                had_no_time ? Cause::other : failure.cause);
        } catch (...) {
            stream_ = std::monostate();
            throw;
        }
    }

    void connect(const base::Deadline& deadline) {
        if (!std::holds_alternative<std::monostate>(stream_)) return;
        const base::Deadline end = deadline.at_most(limits_.connect);
        Socket socket = proxy_ ? connect_by(*proxy_, end) : Socket::connect(url_, end);
        if (!context_) {
            socket.enter(Stage::http);
            stream_ = std::move(socket);
            return;
        }
        stream_ = std::make_unique<TlsStream>(std::move(socket), *context_, tls_, url_, end);
    }

    /// A connection to the server that the proxy makes, and whose name it looks up.
    [[nodiscard]] Socket connect_by(const Proxy& proxy, const base::Deadline& deadline) const try {
        Socket socket = Socket::connect(proxy.url, deadline);
        socket.enter(Stage::http);
        const std::string target = url_.authority();
        socket.write_all(fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n{1}{2}{3}\r\n", target,
                                     proxy.authorization.empty() ? "" : "Proxy-Authorization: ", proxy.authorization,
                                     proxy.authorization.empty() ? "" : "\r\n"),
                         deadline);
        require_tunnel(read_head(socket, deadline), proxy.authorization);
        return socket;
    } catch (const Failure& failure) {
        throw Failure{failure.stage, fmt::format("proxy {}: {}", proxy.url, failure.why), failure.cause};
    }

    Response read_answer(const base::Deadline& deadline) {
        Answer answer(limits_.most_bytes);
        std::array<char, 16384> buffer;
        while (!answer.is_whole()) {
            const std::size_t count = visit([&](auto& stream) { return stream.read_some(buffer, deadline); });
            if (count == 0) answer.take_end();
            answer.take({buffer.data(), count});
        }
        if (!answer.keeps_connection()) stream_ = std::monostate();
        return answer.response();
    }

    Url url_;
    TlsSettings tls_;
    Limits limits_;
    std::optional<Proxy> proxy_;
    TlsContext context_;
    std::variant<std::monostate, Socket, std::unique_ptr<TlsStream>> stream_;
};

Client::Client(Url url, TlsSettings tls, Limits limits, std::optional<Proxy> proxy)
    : impl_(std::make_unique<Impl>(std::move(url), std::move(tls), limits, std::move(proxy))) {}
Client::~Client() = default;

Response Client::ask(const Request& request, const base::Deadline& deadline) {
    return impl_->ask(request, deadline);
}

const Url& Client::url() const {
    return impl_->url();
}

} // namespace rdmanet::http
