#include "tls.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/late_start.hpp>
#include <rdmanet/base/text.hpp>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <array>
#include <new>

// OpenSSL chooses its assembler by this. In the static executable nothing calls it before main() (cmake/late.cmake);
// a shared libcrypto keeps it to itself.
extern "C" [[gnu::weak]] void OPENSSL_cpuid_setup();

namespace rdmanet::http {
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

} // namespace

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

} // namespace rdmanet::http
