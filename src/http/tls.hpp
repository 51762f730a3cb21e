// TLS over a Socket. OpenSSL sees memory only, so that waiting, and the signal of a connection that is gone, stay
// ours.
#pragma once

#include "socket.hpp"

#include <openssl/ssl.h>

#include <memory>

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

/// TLS 1.2 or newer, with the settings' certificates. Reads no configuration file of OpenSSL. Throws
/// ConfigurationError.
[[nodiscard]] TlsContext make_tls_context(const TlsSettings& settings);

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

} // namespace rdmanet::http
