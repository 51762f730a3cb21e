#include <rdmanet/kernel/neighbour_packet.hpp>

#include <linux/if_ether.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <utility>

namespace rdmanet::kernel {
namespace {

using base::IpAddress;
using base::MacAddress;
using Frame = std::vector<unsigned char>;
using Bytes = std::span<const unsigned char>;

constexpr MacAddress::Bytes kBroadcast = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr MacAddress::Bytes kNobody = {0, 0, 0, 0, 0, 0};
constexpr unsigned char kSolicitation = 135; // RFC 4861, section 4.3
constexpr unsigned char kAdvertisement = 136;
constexpr unsigned char kArpRequest = 1;
// Offsets in a frame.
constexpr std::size_t kAfterEthernet = 14;
constexpr std::size_t kArpSize = 28;
constexpr std::size_t kIcmp = kAfterEthernet + 40;    // behind an IPv6 header without extensions
constexpr std::size_t kNeighbourMessageSize = 8 + 16; // type, code, checksum, flags; target

void append(Frame& frame, Bytes bytes) {
    frame.insert(frame.end(), bytes.begin(), bytes.end());
}

Bytes bytes_of(const std::array<unsigned char, 16>& address, std::size_t count) {
    return Bytes(address).first(count);
}

Frame ethernet(const MacAddress::Bytes& to, const MacAddress& from, std::uint16_t protocol) {
    Frame frame;
    append(frame, to);
    append(frame, from.bytes());
    append(frame, std::array{static_cast<unsigned char>(protocol >> 8U), static_cast<unsigned char>(protocol & 0xffU)});
    return frame;
}

/// A request, which all hosts read, with `sender` as its sender's address.
Frame arp_request(const MacAddress& mac, const IpAddress& sender, const IpAddress& target) {
    Frame frame = ethernet(kBroadcast, mac, ETH_P_ARP);
    append(frame, std::array<unsigned char, 8>{0, 1, 8, 0, 6, 4, 0, kArpRequest}); // Ethernet, IPv4
    append(frame, mac.bytes());
    append(frame, bytes_of(sender.bytes(), 4));
    append(frame, kNobody);
    append(frame, bytes_of(target.bytes(), 4));
    return frame;
}

/// ff02::1:ffXX:XXXX with the last three bytes of the address (RFC 4291, section 2.7.1).
std::array<unsigned char, 16> solicited_node_address(const IpAddress& address) {
    const auto of = address.bytes();
    return {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, of[13], of[14], of[15]};
}

/// One's complement sum of RFC 1071, over an even number of bytes.
std::uint16_t checksum(Bytes bytes) {
    std::uint32_t sum = 0;
    for (std::size_t at = 0; at + 1 < bytes.size(); at += 2)
        sum += static_cast<std::uint32_t>(bytes[at] << 8U) | bytes[at + 1];
    while (sum >> 16U != 0) sum = (sum & 0xffffU) + (sum >> 16U);
    return static_cast<std::uint16_t>(~sum & 0xffffU);
}

using Address6 = std::array<unsigned char, 16>;

/// Sets the checksum of an ICMPv6 `message` (bytes 2 and 3, which are 0) and puts an IPv6 header before it. The hop
/// limit must be 255, because receivers ignore what was forwarded (RFC 4861, sections 7.1.1 and 7.1.2).
Frame ipv6_packet(const Address6& from, const Address6& to, Frame message) {
    const auto size = static_cast<unsigned char>(message.size());
    Frame pseudo; // RFC 8200, section 8.1
    append(pseudo, from);
    append(pseudo, to);
    append(pseudo, std::array<unsigned char, 8>{0, 0, 0, size, 0, 0, 0, IPPROTO_ICMPV6});
    append(pseudo, message);
    const std::uint16_t sum = checksum(pseudo);
    message[2] = static_cast<unsigned char>(sum >> 8U);
    message[3] = static_cast<unsigned char>(sum & 0xffU);
    Frame packet = {0x60, 0, 0, 0, 0, size, IPPROTO_ICMPV6, 255};
    append(packet, from);
    append(packet, to);
    append(packet, message);
    return packet;
}

/// Without the source link-layer address, because the source is the unspecified address (RFC 4861, section 4.3).
Frame solicitation(const MacAddress& mac, const IpAddress& address) {
    Frame message = {kSolicitation, 0, 0, 0, 0, 0, 0, 0};
    append(message, address.bytes());
    Frame frame = ethernet(solicited_node_group(address), mac, ETH_P_IPV6);
    append(frame, ipv6_packet({}, solicited_node_address(address), std::move(message)));
    return frame;
}

/// RFC 4861, section 4.4, with the flag "override" and the option with the target's link-layer address.
Frame advertisement(const MacAddress& mac, const IpAddress& address) {
    constexpr Address6 kAllNodes = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}; // RFC 4291, section 2.7.1
    Frame message = {kAdvertisement, 0, 0, 0, 0x20, 0, 0, 0};
    append(message, address.bytes());
    append(message, std::array<unsigned char, 2>{2, 1});
    append(message, mac.bytes());
    Frame frame = ethernet(all_nodes_group(), mac, ETH_P_IPV6);
    append(frame, ipv6_packet(address.bytes(), kAllNodes, std::move(message)));
    return frame;
}

MacAddress mac_at(Bytes frame, std::size_t at) {
    MacAddress::Bytes bytes{};
    std::copy_n(frame.begin() + static_cast<std::ptrdiff_t>(at), bytes.size(), bytes.begin());
    return MacAddress(bytes);
}

bool is_at(Bytes frame, std::size_t at, Bytes expected) {
    return std::equal(expected.begin(), expected.end(), frame.begin() + static_cast<std::ptrdiff_t>(at));
}

std::uint16_t protocol_of(Bytes frame) {
    return static_cast<std::uint16_t>(frame[12] << 8U | frame[13]);
}

std::optional<MacAddress> holder_in_arp(Bytes frame, const IpAddress& address) {
    constexpr std::size_t kOperation = kAfterEthernet + 7;
    constexpr std::size_t kSenderMac = kAfterEthernet + 8;
    constexpr std::size_t kSender = kAfterEthernet + 14;
    constexpr std::size_t kTarget = kAfterEthernet + 24;
    constexpr std::array<unsigned char, 6> kHead = {0, 1, 8, 0, 6, 4};
    if (frame.size() < kAfterEthernet + kArpSize || !is_at(frame, kAfterEthernet, kHead)) return std::nullopt;
    const auto bytes = address.bytes();
    const bool is_from_it = is_at(frame, kSender, bytes_of(bytes, 4));
    const bool is_probe = frame[kOperation] == kArpRequest && is_at(frame, kSender, Bytes(kNobody).first(4)) &&
                          is_at(frame, kTarget, bytes_of(bytes, 4));
    return is_from_it || is_probe ? std::optional(mac_at(frame, kSenderMac)) : std::nullopt;
}

/// The checksum is ignored: between two interfaces of one machine it may not be computed yet (CHECKSUM_PARTIAL).
std::optional<MacAddress> holder_in_ipv6(Bytes frame, const IpAddress& address) {
    constexpr std::size_t kNextHeader = kAfterEthernet + 6;
    constexpr std::size_t kHopLimit = kAfterEthernet + 7;
    constexpr std::size_t kSource = kAfterEthernet + 8;
    if (frame.size() < kIcmp + kNeighbourMessageSize || frame[kNextHeader] != IPPROTO_ICMPV6) return std::nullopt;
    // RFC 4861, sections 7.1.1 and 7.1.2: packets that a router may have forwarded are ignored.
    if (frame[kHopLimit] != 255 || frame[kIcmp + 1] != 0) return std::nullopt;
    const auto bytes = address.bytes();
    if (!is_at(frame, kIcmp + 8, bytes)) return std::nullopt;
    const unsigned char type = frame[kIcmp];
    constexpr std::array<unsigned char, 16> kUnspecified{};
    // Solicitations other than those of duplicate address detection ask for the address, as ours do.
    const bool shows = type == kAdvertisement || (type == kSolicitation && is_at(frame, kSource, kUnspecified));
    return shows ? std::optional(mac_at(frame, 6)) : std::nullopt;
}

} // namespace

MacAddress::Bytes solicited_node_group(const IpAddress& address) {
    const auto bytes = address.bytes();
    return {0x33, 0x33, 0xff, bytes[13], bytes[14], bytes[15]};
}

MacAddress::Bytes all_nodes_group() {
    return {0x33, 0x33, 0, 0, 0, 1};
}

Frame address_probe(const MacAddress& mac, const IpAddress& address) {
    return address.is_v4() ? arp_request(mac, IpAddress(base::Family::v4, 0), address) : solicitation(mac, address);
}

Frame address_announcement(const MacAddress& mac, const IpAddress& address) {
    return address.is_v4() ? arp_request(mac, address, address) : advertisement(mac, address);
}

std::optional<MacAddress> find_holder(Bytes frame, const IpAddress& address, const MacAddress& own) {
    if (frame.size() < kAfterEthernet) return std::nullopt;
    const std::uint16_t protocol = protocol_of(frame);
    std::optional<MacAddress> holder;
    if (protocol == ETH_P_ARP && address.is_v4()) holder = holder_in_arp(frame, address);
    if (protocol == ETH_P_IPV6 && !address.is_v4()) holder = holder_in_ipv6(frame, address);
    return holder == own ? std::nullopt : holder;
}

} // namespace rdmanet::kernel
