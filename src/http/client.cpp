#include <rdmanet/http/client.hpp>

#include "answer.hpp"
#include "socket.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/late_start.hpp>
#include <rdmanet/base/secret.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/http/pause.hpp>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <new>
#include <variant>

// OpenSSL chooses its assembler by this. In the static executable nothing calls it before main() (cmake/late.ld);
// a shared libcrypto keeps it to itself.
extern "C" [[gnu::weak]] void OPENSSL_cpuid_setup();

namespace rdmanet::http {

template <auto Free>
struct Deleter {
    template <class T>
    void operator()(T* object) const noexcept {
        Free(object);
    }
};
template <class T, auto Free>
using Handle = std::unique_ptr<T, Deleter<Free>>;

using TlsContext = Handle<SSL_CTX, SSL_CTX_free>;

/// TLS over a Socket. OpenSSL sees memory only, so that waiting, and the signal of a connection that is gone, stay
/// ours.
class TlsStream {
public:
    /// Shakes hands. Throws Failure.
    TlsStream(Socket socket, SSL_CTX& context, const TlsSettings& settings, const Url& url,
              const base::Deadline& deadline);

    void write_all(std::string_view bytes, const base::Deadline& deadline);
    [[nodiscard]] std::size_t read_some(std::span<char> buffer, const base::Deadline& deadline);

private:
    template <class Act>
    int run(Act act, const base::Deadline& deadline);
    void send_pending(const base::Deadline& deadline);
    [[nodiscard]] std::string why() const;

    Socket socket_;
    Handle<SSL, SSL_free> ssl_;
    BIO* incoming_ = nullptr; // both belong to ssl_
    BIO* outgoing_ = nullptr;
};

namespace {

using Bio = Handle<BIO, BIO_free_all>;
using Certificate = Handle<X509, X509_free>;
using Key = Handle<EVP_PKEY, EVP_PKEY_free>;

/// OpenSSL's latest reason, without its file names and codes.
std::string openssl_reason() {
    const unsigned long code = ERR_peek_last_error();
    ERR_clear_error();
    const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
    return reason == nullptr ? "unknown error" : reason;
}

Bio open(const std::string& text) {
    Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    if (!bio) throw std::bad_alloc();
    return bio;
}

Certificate next_certificate(BIO& pem) {
    return Certificate(PEM_read_bio_X509(&pem, nullptr, nullptr, nullptr));
}

/// PEM_read_bio_X509() ends with "no start line" behind the last certificate; another error is one.
void expect_end(std::string_view what) {
    const unsigned long code = ERR_peek_last_error();
    if (code != 0 && ERR_GET_REASON(code) != PEM_R_NO_START_LINE)
        throw ConfigurationError(fmt::format("{} cannot be read: {}", what, openssl_reason()));
    ERR_clear_error();
}

void require(long result, std::string_view what) {
    if (result != 1) throw ConfigurationError(fmt::format("{} cannot be used: {}", what, openssl_reason()));
}

void trust(SSL_CTX& context, const std::string& authorities) {
    constexpr std::string_view kWhat = "the certificate of the authority";
    const Bio pem = open(authorities);
    std::size_t count = 0;
    while (const Certificate certificate = next_certificate(*pem)) {
        require(X509_STORE_add_cert(SSL_CTX_get_cert_store(&context), certificate.get()), kWhat);
        ++count;
    }
    expect_end(kWhat);
    if (count == 0) throw ConfigurationError(fmt::format("{} cannot be read: it has no certificate in PEM", kWhat));
}

void identify(SSL_CTX& context, const std::string& chain, const std::string& key_text) {
    constexpr std::string_view kWhat = "the client certificate";
    const Bio pem = open(chain);
    const Certificate own = next_certificate(*pem);
    if (!own) throw ConfigurationError(fmt::format("{} cannot be read: {}", kWhat, openssl_reason()));
    require(SSL_CTX_use_certificate(&context, own.get()), kWhat);
    while (const Certificate link = next_certificate(*pem))
        require(SSL_CTX_add1_chain_cert(&context, link.get()), kWhat);
    expect_end(kWhat);
    // Without a terminal: a key with a pass phrase is refused instead of asked for.
    const auto no_pass_phrase = [](char*, int, int, void*) { return -1; };
    const Key key(PEM_read_bio_PrivateKey(open(key_text).get(), nullptr, no_pass_phrase, nullptr));
    if (!key) throw ConfigurationError(fmt::format("the client key cannot be read: {}", openssl_reason()));
    if (SSL_CTX_use_PrivateKey(&context, key.get()) != 1 || SSL_CTX_check_private_key(&context) != 1)
        throw ConfigurationError(
            fmt::format("the client key does not fit the client certificate: {}", openssl_reason()));
}

/// TLS 1.2 or newer, with the settings' certificates. Reads no configuration file of OpenSSL. Throws
/// ConfigurationError.
TlsContext make_tls_context(const TlsSettings& settings) {
    base::start_late_parts(); // OpenSSL's
    if (OPENSSL_cpuid_setup != nullptr) OPENSSL_cpuid_setup();
    // No openssl.cnf: it may name providers, which a static program can't load. No atexit(): the process just ends.
    OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr);
    TlsContext context(SSL_CTX_new(TLS_client_method()));
    if (!context) throw std::bad_alloc();
    require(SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION), "TLS 1.2");
    SSL_CTX_set_verify(context.get(), settings.verify == Verify::server ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    if (!settings.authorities.empty()) trust(*context, settings.authorities);
    if (!settings.certificate.empty()) identify(*context, settings.certificate, settings.key);
    return context;
}

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
    if (!target.starts_with('/') || !std::ranges::all_of(target, is_allowed))
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

TlsStream::TlsStream(Socket socket, SSL_CTX& context, const TlsSettings& settings, const Url& url,
                     const base::Deadline& deadline)
    : socket_(std::move(socket)), ssl_(SSL_new(&context)), incoming_(BIO_new(BIO_s_mem())),
      outgoing_(BIO_new(BIO_s_mem())) {
    if (!ssl_ || incoming_ == nullptr || outgoing_ == nullptr) throw std::bad_alloc();
    SSL_set_bio(ssl_.get(), incoming_, outgoing_);
    const std::string& name = settings.server_name.empty() ? url.host : settings.server_name;
    X509_VERIFY_PARAM* const checks = SSL_get0_param(ssl_.get());
    // As Go's crypto/x509, which kubectl and the servers' other clients use: an intermediate authority may be the trusted
    // one, and only subjectAltName names the server.
    (void)X509_VERIFY_PARAM_set_flags(checks, X509_V_FLAG_PARTIAL_CHAIN); // it sets a bit
    X509_VERIFY_PARAM_set_hostflags(checks, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    const bool is_set = base::IpAddress::parse(name) ? X509_VERIFY_PARAM_set1_ip_asc(checks, name.c_str()) == 1
                                                     : SSL_set_tlsext_host_name(ssl_.get(), name.c_str()) == 1 &&
                                                           SSL_set1_host(ssl_.get(), name.c_str()) == 1;
    if (!is_set) throw Failure{Stage::tls, fmt::format("no certificate can have the name {}", base::quoted(name))};
    socket_.enter(Stage::tls);
    (void)run([&] { return SSL_connect(ssl_.get()); }, deadline);
    socket_.enter(Stage::http);
}

std::string TlsStream::why() const {
    if (const long verdict = SSL_get_verify_result(ssl_.get());
        verdict != X509_V_OK && SSL_get_verify_mode(ssl_.get()) != SSL_VERIFY_NONE)
        return fmt::format("the server's certificate is refused: {}", X509_verify_cert_error_string(verdict));
    return openssl_reason();
}

void TlsStream::send_pending(const base::Deadline& deadline) {
    char* bytes = nullptr;
    const long count = BIO_get_mem_data(outgoing_, &bytes);
    if (count <= 0) return;
    socket_.write_all({bytes, static_cast<std::size_t>(count)}, deadline);
    (void)BIO_reset(outgoing_);
}

/// Result of `act` when it is done; 0 where the server has closed the connection.
template <class Act>
int TlsStream::run(Act act, const base::Deadline& deadline) {
    for (;;) {
        ERR_clear_error();
        const int result = act();
        const int state = SSL_get_error(ssl_.get(), result);
        const bool wants_to_read = state == SSL_ERROR_WANT_READ;
        const std::string problem =
            result > 0 || wants_to_read || state == SSL_ERROR_ZERO_RETURN ? std::string() : why();
        send_pending(deadline); // an alert, too
        if (result > 0) return result;
        if (state == SSL_ERROR_ZERO_RETURN) return 0;
        if (!wants_to_read) throw Failure{Stage::tls, problem};
        std::array<char, 16384> buffer;
        const std::size_t count = socket_.read_some(buffer, deadline);
        if (count == 0) {
            if (SSL_is_init_finished(ssl_.get()) != 0) return 0;
            throw Failure{Stage::tls, "the server closed the connection during the handshake", Cause::end};
        }
        BIO_write(incoming_, buffer.data(), static_cast<int>(count));
    }
}

void TlsStream::write_all(std::string_view bytes, const base::Deadline& deadline) {
    const int written =
        run([&] { return SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())); }, deadline);
    if (written == 0) throw Failure{Stage::tls, "the server closed the connection", Cause::end};
}

std::size_t TlsStream::read_some(std::span<char> buffer, const base::Deadline& deadline) {
    return static_cast<std::size_t>(
        run([&] { return SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size())); }, deadline));
}

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
            const bool may_repeat =
                (request.method == "GET" || request.method == "HEAD") || !error.may_have_been_done();
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
