#include <rdmanet/verify/meeting.hpp>

#include "channel.hpp"
#include "failure.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/writer.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

namespace rdmanet::verify {
namespace {

constexpr int kVersion = 1;                  // of the messages
constexpr std::chrono::seconds kGreeting{5}; // a client that says nothing keeps others waiting for so long

using base::IpAddress;
using base::SystemError;
using base::UniqueFd;

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = sizeof(sockaddr_storage);

    SocketAddress() = default;
    SocketAddress(const IpAddress& address, std::uint16_t port) {
        const auto bytes = address.bytes();
        if (address.is_v4()) {
            sockaddr_in v4{};
            v4.sin_family = AF_INET;
            v4.sin_port = htons(port);
            std::memcpy(&v4.sin_addr, bytes.data(), sizeof v4.sin_addr);
            std::memcpy(&storage, &v4, length = sizeof v4);
        } else {
            sockaddr_in6 v6{};
            v6.sin6_family = AF_INET6;
            v6.sin6_port = htons(port);
            std::memcpy(&v6.sin6_addr, bytes.data(), sizeof v6.sin6_addr);
            std::memcpy(&storage, &v6, length = sizeof v6);
        }
    }
    [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
    /// The port is at the same place in both families.
    [[nodiscard]] std::uint16_t port() const {
        sockaddr_in any{};
        std::memcpy(&any, &storage, sizeof any);
        return ntohs(any.sin_port);
    }
};

UniqueFd open_tcp(const IpAddress& address) {
    UniqueFd fd(::socket(address.is_v4() ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) throw SystemError("open a TCP socket", errno);
    return fd;
}

/// False at the deadline.
bool is_ready(int fd, short events, const base::Deadline& deadline) {
    for (;;) {
        pollfd waiting{.fd = fd, .events = events, .revents = 0};
        const int ready = ::poll(&waiting, 1, static_cast<int>(deadline.remaining().count()));
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) throw SystemError("wait for a TCP connection", errno);
        if (deadline.passed()) return false;
    }
}

UniqueFd connect_to(const Peer& peer, const base::Deadline& deadline) {
    UniqueFd fd = open_tcp(peer.address);
    SocketAddress to(peer.address, peer.port);
    if (::connect(fd.get(), to.get(), to.length) == 0) return fd;
    int error = errno;
    socklen_t size = sizeof error;
    if (error == EINPROGRESS) {
        if (!is_ready(fd.get(), POLLOUT, deadline))
            error = ETIMEDOUT;
        else if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0)
            error = errno;
    }
    if (error != 0)
        throw base::Error(
            fmt::format("connect to {}: {}: run `rdmanet verify --server NAMESPACE/POD` on the other node, "
                        "and let TCP to that port through",
                        peer, base::errno_text(error)));
    return fd;
}

std::string refusal(const std::string& what) {
    return json::Writer()
        .begin_object()
        .member("type", "failed")
        .member("what", what)
        .member("cure", "give the token that `rdmanet verify --server` prints")
        .end_object()
        .to_text();
}

/// Nothing if the client is refused.
std::optional<UniqueFd> admit(UniqueFd fd, std::string_view token, const base::Deadline& deadline) {
    Channel channel(std::move(fd));
    const json::Document hello = channel.receive("hello", deadline);
    const std::int64_t version = hello.root().at("version").integer(0, INT32_MAX);
    if (!is_same_token(hello.root().at("token").string(), token)) {
        channel.send(refusal("the token is not the server's"), deadline);
        return std::nullopt;
    }
    if (version != kVersion) {
        channel.send(refusal(fmt::format("the client's messages have version {}, the server's {}", version, kVersion)),
                     deadline);
        return std::nullopt;
    }
    channel.send(R"({"type":"welcome"})", deadline);
    return std::move(channel).release();
}

} // namespace

std::string make_token() {
    unsigned char bytes[8];
    if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) throw SystemError("make a token", errno);
    std::string text;
    for (const unsigned char byte : bytes) {
        constexpr const char* kDigits = "0123456789abcdef";
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 15U];
    }
    return text;
}

bool is_same_token(std::string_view given, std::string_view token) {
    if (given.size() != token.size()) return false;
    unsigned difference = 0;
    for (std::size_t at = 0; at < token.size(); ++at)
        difference |= static_cast<unsigned char>(given[at]) ^ static_cast<unsigned char>(token[at]);
    // The compiler must not end the loop early.
    return *const_cast<const volatile unsigned*>(&difference) == 0;
}

Meeting::Meeting(const std::optional<IpAddress>& address, std::uint16_t port) {
    const IpAddress all(base::Family::v6, 0); // with IPv4 as well
    const IpAddress all_v4(base::Family::v4, 0);
    try {
        listen_on(address.value_or(all), port);
    } catch (const SystemError&) {
        if (address) throw;
        listen_on(all_v4, port); // this kernel has no IPv6
    }
}

void Meeting::listen_on(const IpAddress& address, std::uint16_t port) {
    const int on = 1;
    const int off = 0;
    fd_ = open_tcp(address);
    (void)::setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (!address.is_v4()) (void)::setsockopt(fd_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    SocketAddress here(address, port);
    if (::bind(fd_.get(), here.get(), here.length) != 0 || ::listen(fd_.get(), 8) != 0)
        throw SystemError(fmt::format("listen on {}", Peer{.address = address, .port = port}), errno);
    here.length = sizeof here.storage;
    if (::getsockname(fd_.get(), here.get(), &here.length) != 0) throw SystemError("find the port", errno);
    port_ = here.port();
}

UniqueFd Meeting::wait_for_client(std::string_view token, const base::Deadline& deadline,
                                  const std::function<void(const std::string&)>& refused) const {
    while (is_ready(fd_.get(), POLLIN, deadline)) {
        UniqueFd client(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!client && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS))
            throw SystemError("accept a client", errno);
        if (!client) continue; // it has gone already
        try {
            if (auto admitted = admit(std::move(client), token, deadline.at_most(kGreeting)))
                return *std::move(admitted);
            refused("its token or version is wrong");
        } catch (const base::Error& error) {
            refused(error.what());
        }
    }
    throw base::TimeoutError("no client has come: run the printed command on the other node, or give more time with "
                             "`--wait`");
}

Peer Peer::parse(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    std::string_view host = text.substr(0, colon == std::string_view::npos ? 0 : colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    else if (host.find(':') != std::string_view::npos)
        host = {};
    const auto address = IpAddress::parse(host);
    const auto port = base::parse_integer<std::uint16_t>(text.substr(colon == std::string_view::npos ? 0 : colon + 1));
    if (!address || !port || *port == 0)
        throw base::Error(
            fmt::format("--peer {}: expected an address and a port that `rdmanet verify --server` prints, "
                        "like 192.0.2.7:18515 or [2001:db8::7]:18515",
                        base::quoted(text)));
    return {.address = *address, .port = *port};
}

std::string Peer::to_string() const {
    return address.is_v4() ? fmt::format("{}:{}", address, port) : fmt::format("[{}]:{}", address, port);
}

UniqueFd meet(const Peer& peer, std::string_view token, const base::Deadline& deadline) {
    Channel channel(connect_to(peer, deadline));
    channel.send(json::Writer()
                     .begin_object()
                     .member("type", "hello")
                     .member("version", kVersion)
                     .member("token", token)
                     .end_object()
                     .to_text(),
                 deadline);
    try {
        (void)channel.receive("welcome", deadline);
    } catch (const Failure& failure) {
        throw base::Error(fmt::format("{} refuses: {}: {}", peer, failure.what(), failure.cure()));
    }
    return std::move(channel).release();
}

} // namespace rdmanet::verify
