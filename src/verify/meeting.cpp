#include <rdmanet/verify/meeting.hpp>

#include "channel.hpp"
#include "messages.hpp"
#include "tcp.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/socket_address.hpp>
#include <rdmanet/base/wait.hpp>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <utility>

namespace rdmanet::verify {
namespace {

constexpr const char* kTokenFix = "give the token that `rdmanet verify --server` prints";
constexpr std::chrono::seconds kGreeting{5}; // a client that says nothing keeps others waiting for so long

using base::IpAddress;
using base::SystemError;
using base::UniqueFd;

/// Nothing if the client is refused.
std::optional<UniqueFd> admit(UniqueFd fd, std::string_view token, const base::Deadline& deadline) {
    Channel channel(std::move(fd));
    const json::Document hello = channel.receive("hello", deadline);
    const std::int64_t version = hello.root().at("version").integer(0, INT32_MAX);
    if (!is_same_token(hello.root().at("token").string(), token)) {
        channel.send(to_failure({"the token is not the server's", kTokenFix}), deadline);
        return std::nullopt;
    }
    if (version != kVersion) {
        channel.send(
            to_failure({fmt::format("the client's messages have version {}, the server's {}", version, kVersion),
                        "use the same version of rdmanet on both nodes"}),
            deadline);
        return std::nullopt;
    }
    channel.send(to_signal("welcome"), deadline);
    return std::move(channel).release();
}

} // namespace

Meeting::Meeting(const std::optional<IpAddress>& address, std::uint16_t port) {
    const IpAddress all(base::Family::v6, 0); // with IPv4 as well
    const IpAddress all_v4(base::Family::v4, 0);
    try {
        listen_on(address.value_or(all), port);
    } catch (const SystemError& error) {
        if (error.errno_value() == EADDRNOTAVAIL && address)
            throw base::Error(
                fmt::format("{}: expected an address of this node, as `ip address` shows them", error.what()));
        if (address) throw;
        listen_on(all_v4, port); // this kernel has no IPv6
    }
}

void Meeting::listen_on(const IpAddress& address, std::uint16_t port) {
    const int on = 1;
    const int off = 0;
    const base::SocketAddress here(address, port);
    fd_ = open_tcp(here);
    (void)::setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (!address.is_v4()) (void)::setsockopt(fd_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (::bind(fd_.get(), here.get(), here.length()) != 0 || ::listen(fd_.get(), 8) != 0)
        throw SystemError(fmt::format("listen on {}", Peer{.host = address.to_string(), .port = port}), errno);
    port_ = base::SocketAddress::own_of(fd_.get()).port();
}

UniqueFd Meeting::wait_for_client(std::string_view token, const base::Deadline& deadline,
                                  const std::function<void(const std::string&)>& refused) const {
    // Strangers who come without end must not prolong the wait.
    while (!deadline.passed() && base::wait_for_events(fd_.get(), POLLIN, deadline)) {
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

} // namespace rdmanet::verify
