// How the two ends find each other: a TCP connection between the nodes, and a token. The token keeps strangers out who
// can reach the port. It does not protect against someone who reads the packets.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::verify {

/// 16 random hexadecimal digits. Throws base::SystemError.
[[nodiscard]] std::string make_token();

/// Takes as long for every text of the token's length.
[[nodiscard]] bool is_same_token(std::string_view given, std::string_view token);

/// Waits for a client, in the network namespace of the caller.
class Meeting {
public:
    /// Without an address it listens on all of them. Port 0: the kernel chooses one. Throws base::SystemError.
    Meeting(const std::optional<base::IpAddress>& address, std::uint16_t port);

    [[nodiscard]] std::uint16_t port() const { return port_; }

    /// The stream to the first client with the token. Others are refused: `refused` is called with the reason.
    /// Throws base::TimeoutError.
    [[nodiscard]] base::UniqueFd wait_for_client(std::string_view token, const base::Deadline& deadline,
                                                 const std::function<void(const std::string&)>& refused) const;

private:
    void listen_on(const base::IpAddress& address, std::uint16_t port);

    base::UniqueFd fd_;
    std::uint16_t port_ = 0;
};

/// An address of this network namespace that other nodes probably reach: that of the interface with the default route,
/// else the first one of an interface that is up. nullopt if there are only loopback and link-local ones. Throws
/// base::Error.
[[nodiscard]] std::optional<base::IpAddress> find_own_address();

/// What --listen names: an address, or a name, which is looked up. Throws base::Error.
[[nodiscard]] base::IpAddress find_listen_address(const std::string& host, const base::Deadline& deadline);

struct Peer {
    std::string host; // an address, or a name that is looked up when it is needed
    std::uint16_t port = 0;

    /// "ADDRESS:PORT", "[ADDRESS]:PORT" for IPv6, "NAME:PORT". Throws base::Error.
    [[nodiscard]] static Peer parse(std::string_view text);
    [[nodiscard]] std::string to_string() const;
};

/// The stream to a server that has accepted the token. Throws base::Error.
[[nodiscard]] base::UniqueFd meet(const Peer& peer, std::string_view token, const base::Deadline& deadline);

} // namespace rdmanet::verify
