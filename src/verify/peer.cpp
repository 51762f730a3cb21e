#include <rdmanet/verify/meeting.hpp>

#include "channel.hpp"
#include "failure.hpp"
#include "messages.hpp"
#include "tcp.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/socket_address.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/http/host.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace rdmanet::verify {
namespace {

using base::IpAddress;
using base::UniqueFd;

/// Letters, digits, '-', '.', and the '_' of some domains.
bool is_name(std::string_view text) {
    const auto is_allowed = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' ||
               c == '_';
    };
    return !text.empty() && std::ranges::all_of(text, is_allowed);
}

/// An address in its usual form, a name as it is; empty if it is neither.
std::string parse_host(std::string_view text) {
    const bool has_brackets = text.size() > 2 && text.front() == '[' && text.back() == ']';
    if (has_brackets) text = text.substr(1, text.size() - 2);
    const auto address = IpAddress::parse(text);
    if (address && (has_brackets || text.find(':') == std::string_view::npos)) return address->to_string();
    return is_name(text) && !has_brackets ? std::string(text) : std::string();
}

/// The first address of the host that answers. Each has its share of the time.
UniqueFd connect_to(const Peer& peer, const base::Deadline& deadline) {
    const std::vector<IpAddress> addresses = http::list_addresses_of(peer.host, deadline);
    std::string failures;
    for (std::size_t at = 0; at < addresses.size(); ++at) {
        const base::SocketAddress to(addresses[at], peer.port);
        std::string failure;
        try {
            UniqueFd fd = open_tcp(to);
            const int error =
                connect_tcp(fd.get(), to, deadline.at_most(deadline.remaining() / (addresses.size() - at)));
            if (error == 0) return fd;
            failure = base::errno_text(error);
        } catch (const base::SystemError& error) {
            if (error.errno_value() != EAFNOSUPPORT) throw;
            failure = error.what(); // this node runs with ipv6.disable=1, and another address may do
        }
        const std::string address = addresses.size() > 1 ? fmt::format("{}: ", addresses[at]) : std::string();
        failures += fmt::format("{}{}{}", failures.empty() ? "" : ", ", address, failure);
    }
    throw base::Error(fmt::format("connect to {}: {}: run `rdmanet verify --server NAMESPACE/POD` on the other node, "
                                  "and let TCP to that port through",
                                  peer, failures));
}

} // namespace

Peer Peer::parse(std::string_view text) {
    const std::size_t colon = std::min(text.rfind(':'), text.size());
    std::string host = parse_host(text.substr(0, colon));
    const auto port = base::parse_integer<std::uint16_t>(text.substr(std::min(colon + 1, text.size())));
    if (host.empty() || !port || *port == 0)
        throw base::Error(fmt::format("--peer {}: expected HOST:PORT as `rdmanet verify --server` prints it, "
                                      "like 192.0.2.7:18515, [2001:db8::7]:18515 or node-2:18515",
                                      base::quoted(text)));
    return {.host = std::move(host), .port = *port};
}

std::string Peer::to_string() const {
    return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

IpAddress find_listen_address(const std::string& host, const base::Deadline& deadline) {
    if (const auto address = IpAddress::parse(host)) return *address;
    if (!is_name(host))
        throw base::Error(
            fmt::format("--listen {}: expected an address of this node, or its name", base::quoted(host)));
    try {
        return http::list_addresses_of(host, deadline).front();
    } catch (const base::Error& error) {
        throw base::Error(
            fmt::format("--listen {}: {}: give an address of this node", base::quoted(host), error.what()));
    }
}

UniqueFd meet(const Peer& peer, std::string_view token, const base::Deadline& deadline) {
    Channel channel(connect_to(peer, deadline));
    channel.send(to_hello(token), deadline);
    try {
        (void)channel.receive("welcome", deadline);
    } catch (const Failure& failure) {
        throw base::Error(fmt::format("{} refuses: {}: {}", peer, failure.what(), failure.fix()));
    }
    return std::move(channel).release();
}

} // namespace rdmanet::verify
