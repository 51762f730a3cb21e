#include <rdmanet/kernel/announce.hpp>

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>

namespace rdmanet::kernel {
namespace {

using base::IpAddress;
using base::MacAddress;
using Packet = std::vector<unsigned char>;

template <class Range>
void append(Packet& packet, const Range& bytes, std::size_t count) {
    std::copy_n(std::begin(bytes), count, std::back_inserter(packet));
}

/// One's complement sum of RFC 1071, over an even number of bytes.
std::uint16_t checksum(const Packet& bytes) {
    std::uint32_t sum = 0;
    for (std::size_t at = 0; at + 1 < bytes.size(); at += 2)
        sum += static_cast<std::uint32_t>(bytes[at] << 8U) | bytes[at + 1];
    while (sum >> 16U != 0) sum = (sum & 0xffffU) + (sum >> 16U);
    return static_cast<std::uint16_t>(~sum & 0xffffU);
}

/// RFC 4861, section 4.4, with the "override" flag and the target link-layer address option.
Packet advertisement_body(const MacAddress& mac, const IpAddress& address, std::uint16_t sum) {
    Packet body = {136, 0, static_cast<unsigned char>(sum >> 8U), static_cast<unsigned char>(sum & 0xffU), 0x20, 0,
                   0,   0};
    append(body, address.bytes(), 16);
    append(body, Packet{2, 1}, 2);
    append(body, mac.bytes(), 6);
    return body;
}

/// ff02::1, RFC 4291 section 2.7.1.
constexpr std::array<unsigned char, 16> kAllNodesAddress = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

std::uint16_t advertisement_checksum(const MacAddress& mac, const IpAddress& address) {
    const Packet body = advertisement_body(mac, address, 0);
    Packet pseudo; // RFC 8200, section 8.1
    append(pseudo, address.bytes(), 16);
    append(pseudo, kAllNodesAddress, 16);
    append(pseudo, Packet{0, 0, 0, static_cast<unsigned char>(body.size()), 0, 0, 0, IPPROTO_ICMPV6}, 8);
    append(pseudo, body, body.size());
    return checksum(pseudo);
}

/// IPPROTO_RAW: the packets bring their own IPv6 header (raw(7)).
base::UniqueFd open_raw_socket(const Netns& netns) {
    const NetnsScope scope(netns);
    base::UniqueFd fd(::socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW));
    if (!fd) throw base::SystemError("open raw IPv6 socket", errno);
    return fd;
}

void send_to_all_nodes(int fd, unsigned ifindex, const Packet& packet) {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_scope_id = ifindex;
    std::copy(kAllNodesAddress.begin(), kAllNodesAddress.end(), to.sin6_addr.s6_addr);
    if (::sendto(fd, packet.data(), packet.size(), MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&to), sizeof to) < 0)
        throw base::SystemError(base::concat("announce address on interface number ", ifindex), errno);
}

} // namespace

Packet neighbour_advertisement(const MacAddress& mac, const IpAddress& address) {
    const Packet body = advertisement_body(mac, address, advertisement_checksum(mac, address));
    // RFC 4861, section 7.1.2: what was forwarded once is ignored, so the hop limit must be 255.
    Packet packet = {0x60, 0, 0, 0, 0, static_cast<unsigned char>(body.size()), IPPROTO_ICMPV6, 255};
    append(packet, address.bytes(), 16);
    append(packet, kAllNodesAddress, 16);
    append(packet, body, body.size());
    return packet;
}

void announce_ipv6(const Netns& netns, unsigned ifindex, const MacAddress& mac, std::span<const IpAddress> addresses) {
    const base::UniqueFd fd = open_raw_socket(netns);
    for (const IpAddress& address : addresses)
        send_to_all_nodes(fd.get(), ifindex, neighbour_advertisement(mac, address));
}

} // namespace rdmanet::kernel
