#include <rdmanet/kernel/announce.hpp>

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <arpa/inet.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace rdmanet::kernel {
namespace {

using base::IpAddress;
using base::MacAddress;
using Packet = std::vector<unsigned char>;

constexpr MacAddress::Bytes kBroadcast = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr MacAddress::Bytes kAllNodes = {0x33, 0x33, 0, 0, 0, 1}; // ff02::1, RFC 2464 section 7

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

base::UniqueFd open_packet_socket(const Netns& netns) {
    const NetnsScope scope(netns);
    // Protocol 0: the socket receives nothing.
    base::UniqueFd fd(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!fd) throw base::SystemError("open packet socket", errno);
    return fd;
}

void send_packet(int fd, unsigned ifindex, std::uint16_t protocol, const MacAddress::Bytes& to, const Packet& packet) {
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(protocol);
    address.sll_ifindex = static_cast<int>(ifindex);
    address.sll_halen = static_cast<unsigned char>(to.size());
    std::copy(to.begin(), to.end(), address.sll_addr);
    if (::sendto(fd, packet.data(), packet.size(), MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&address),
                 sizeof address) < 0)
        throw base::SystemError(base::concat("announce address on interface number ", ifindex), errno);
}

} // namespace

Packet gratuitous_arp(const MacAddress& mac, const IpAddress& address) {
    Packet packet = {0, ARPHRD_ETHER, ETH_P_IP >> 8, ETH_P_IP & 0xff, 6, 4, 0, ARPOP_REQUEST};
    append(packet, mac.bytes(), 6);
    append(packet, address.bytes(), 4);
    append(packet, MacAddress::Bytes{}, 6);
    append(packet, address.bytes(), 4);
    return packet;
}

Packet neighbour_advertisement(const MacAddress& mac, const IpAddress& address) {
    const Packet body = advertisement_body(mac, address, advertisement_checksum(mac, address));
    // RFC 4861, section 7.1.2: what was forwarded once is ignored, so the hop limit must be 255.
    Packet packet = {0x60, 0, 0, 0, 0, static_cast<unsigned char>(body.size()), IPPROTO_ICMPV6, 255};
    append(packet, address.bytes(), 16);
    append(packet, kAllNodesAddress, 16);
    append(packet, body, body.size());
    return packet;
}

void announce(const Netns& netns, unsigned ifindex, const MacAddress& mac, std::span<const IpAddress> addresses) {
    const base::UniqueFd fd = open_packet_socket(netns);
    for (const IpAddress& address : addresses)
        if (address.is_v4())
            send_packet(fd.get(), ifindex, ETH_P_ARP, kBroadcast, gratuitous_arp(mac, address));
        else
            send_packet(fd.get(), ifindex, ETH_P_IPV6, kAllNodes, neighbour_advertisement(mac, address));
}

} // namespace rdmanet::kernel
