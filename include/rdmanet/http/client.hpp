// HTTP/1.1 over one kept connection, with TLS or without. Every wait ends at a deadline, and every failure names the
// endpoint, what failed (DNS, TCP, TLS, HTTP) and for how long it was tried.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/url.hpp>
#include <rdmanet/http/failure.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmanet::http {

/// A certificate or a key that can't be used, whatever the server does.
class ConfigurationError : public base::Error {
public:
    using Error::Error;
};

using base::Url;

enum class Verify : std::uint8_t { server, nobody };

/// Texts are PEM. Their content never is in a message.
struct TlsSettings {
    std::string authorities; // whoever the server's certificate must come from
    std::string certificate; // of the client, with its chain; empty: none
    std::string key;
    std::string server_name; // which the server's certificate must have; empty: the URL's host
    Verify verify = Verify::server;
};

struct Limits {
    std::chrono::milliseconds connect{2000}; // name, connection and TLS together
    std::chrono::milliseconds request{5000}; // from the first byte of a request to the last of its answer
    std::size_t most_bytes = 8U << 20U;      // of an answer
};

/// Limits::most_bytes for commands of a person, which list what ADD has no need of.
inline constexpr std::size_t kMostOfPage = 16U << 20U;

/// Who passes the bytes of a TLS connection on (RFC 9110, section 9.3.6, CONNECT).
struct Proxy {
    Url url;
    std::string authorization; // the value of Proxy-Authorization, a secret; empty: none is sent
};

struct Request {
    std::string_view method;
    std::string target; // begins with '/', and is encoded as RFC 3986 says
    std::vector<std::pair<std::string_view, std::string>> headers;
    std::string body;
};

struct Response {
    unsigned status = 0;
    std::string body;
    std::optional<std::chrono::seconds> retry_after;
    std::optional<std::int64_t> date; // the server's clock, seconds since the epoch

    /// The server, or what stands before it, is too busy, or did not get the request whole (408; RFC 9110, section
    /// 15.5.9). One that says when to come back has not begun (RFC 9110, section 15.6.4; apiserver, priority and fairness;
    /// server shutdown).
    [[nodiscard]] bool is_sent_away() const { return status == 408 || status == 429 || (status == 503 && retry_after); }
};

class Client {
public:
    /// Connects to nobody. Throws ConfigurationError for certificates and keys that can't be read. A proxy is for an
    /// https server only.
    Client(Url url, TlsSettings tls, Limits limits, std::optional<Proxy> proxy = std::nullopt);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    /// Any answer of the server, also one that refuses. Throws TransportError, and ConfigurationError for a target that
    /// would have to be encoded. A connection that the server has closed since the request before is made anew, once, for
    /// requests that change nothing, or of which nothing was sent. A server that is silent is not asked again.
    [[nodiscard]] Response ask(const Request& request, const base::Deadline& deadline);

    [[nodiscard]] const Url& url() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace rdmanet::http
