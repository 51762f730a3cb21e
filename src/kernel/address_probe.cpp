#include <rdmanet/kernel/address_probe.hpp>

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/wait.hpp>
#include <rdmanet/kernel/neighbour_packet.hpp>

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace rdmanet::kernel {
namespace {

using base::IpAddress;
using base::MacAddress;
using base::SystemError;

constexpr sock_filter load(unsigned short size, unsigned at) {
    return {static_cast<unsigned short>(BPF_LD | size | BPF_ABS), 0, 0, at};
}
constexpr sock_filter equal(unsigned value, unsigned char if_so, unsigned char if_not) {
    return {BPF_JMP | BPF_JEQ | BPF_K, if_so, if_not, value};
}
constexpr sock_filter at_least(unsigned value, unsigned char if_so, unsigned char if_not) {
    return {BPF_JMP | BPF_JGE | BPF_K, if_so, if_not, value};
}
constexpr sock_filter answer(unsigned bytes) {
    return {BPF_RET | BPF_K, 0, 0, bytes};
}

/// Passes ARP, and IPv6 neighbour solicitations and advertisements: the interface of a busy node has much other
/// traffic. Frames of VLANs on top of it carry their tag beside the frame.
void let_pass_neighbour_discovery(int fd) {
    constexpr auto kVlanTag = static_cast<unsigned>(SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT);
    // Jumps count from the next instruction.
    std::array<sock_filter, 11> program = {
        load(BPF_W, kVlanTag),       // 0
        equal(0, 0, 8),              // 1: else 10
        load(BPF_H, 12),             // 2: EtherType
        equal(ETH_P_ARP, 5, 0),      // 3: to 9
        equal(ETH_P_IPV6, 0, 5),     // 4: else 10
        load(BPF_B, 14 + 6),         // 5: next header
        equal(IPPROTO_ICMPV6, 0, 3), // 6: else 10
        load(BPF_B, 14 + 40),        // 7: type, 135 or 136; redirects (137) do no harm
        at_least(135, 0, 1),         // 8: else 10
        answer(0xffff),              // 9
        answer(0),                   // 10
    };
    const sock_fprog filter{.len = static_cast<unsigned short>(program.size()), .filter = program.data()};
    if (::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0)
        throw SystemError("filter packet socket", errno);
}

sockaddr_ll on_interface(unsigned ifindex) {
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(ifindex);
    return address;
}

/// Protocol 0: nothing arrives before the filter is set and the socket is bound (packet(7)). Then all protocols,
/// because an ipvlan parent hides its children's packets from other sockets.
base::UniqueFd open_packet_socket(const Netns& netns, unsigned ifindex) {
    const NetnsScope scope(netns);
    base::UniqueFd fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) throw SystemError("open packet socket", errno);
    let_pass_neighbour_discovery(fd.get());
    const sockaddr_ll address = on_interface(ifindex);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        throw SystemError(fmt::format("bind packet socket to interface number {}", ifindex), errno);
    return fd;
}

/// nullopt if there is nothing to read. EINTR and errors of the network (ENETDOWN) are left to the next send.
std::optional<std::span<const unsigned char>> receive(int fd, std::span<unsigned char> buffer) {
    for (;;) {
        sockaddr_ll from{};
        socklen_t size = sizeof from;
        const ssize_t count =
            ::recvfrom(fd, buffer.data(), buffer.size(), MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&from), &size);
        if (count < 0) return std::nullopt;
        if (from.sll_pkttype != PACKET_OUTGOING) return buffer.first(static_cast<std::size_t>(count));
    }
}

} // namespace

AddressProber::AddressProber(const Netns& netns, unsigned ifindex, const MacAddress& mac)
    : fd_(open_packet_socket(netns, ifindex)), ifindex_(ifindex), mac_(mac) {}

std::optional<AddressHolder> AddressProber::find_holder(std::span<const IpAddress> addresses,
                                                        const base::Deadline& deadline) const {
    // Advertisements are sent to all nodes, because the solicitation has no source address (RFC 4861, section 7.2.4).
    // Other hosts' probes are sent to the address's own group.
    join(all_nodes_group());
    for (const IpAddress& address : addresses)
        if (!address.is_v4()) join(solicited_node_group(address));
    for (unsigned probe = 0; probe < kProbes && !deadline.passed(); ++probe) {
        for (const IpAddress& address : addresses) send(address_probe(mac_, address));
        if (auto holder = listen(addresses, deadline.at_most(kInterval))) return holder;
    }
    return std::nullopt;
}

void AddressProber::announce(std::span<const IpAddress> addresses) const {
    for (const IpAddress& address : addresses) send(address_announcement(mac_, address));
}

void AddressProber::join(const MacAddress::Bytes& group) const {
    packet_mreq request{};
    request.mr_ifindex = static_cast<int>(ifindex_);
    request.mr_type = PACKET_MR_MULTICAST;
    request.mr_alen = static_cast<unsigned short>(group.size());
    std::copy(group.begin(), group.end(), request.mr_address);
    if (::setsockopt(fd_.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof request) != 0)
        throw SystemError(fmt::format("join multicast group on interface number {}", ifindex_), errno);
}

void AddressProber::send(std::span<const unsigned char> frame) const {
    const sockaddr_ll to = on_interface(ifindex_);
    const ssize_t sent = ::sendto(fd_.get(), frame.data(), frame.size(), MSG_DONTWAIT,
                                  reinterpret_cast<const sockaddr*>(&to), sizeof to);
    // A full queue drops this frame. Others follow, and announcements only save time.
    if (sent < 0 && errno != ENOBUFS && errno != EAGAIN)
        throw SystemError(fmt::format("send to the neighbours of interface number {}", ifindex_), errno);
}

std::optional<AddressHolder> AddressProber::listen(std::span<const IpAddress> addresses,
                                                   const base::Deadline& until) const {
    std::array<unsigned char, 256> buffer{};
    while (!until.passed() && base::wait_for_events(fd_.get(), POLLIN, until)) {
        const auto frame = receive(fd_.get(), buffer);
        if (!frame) continue;
        for (const IpAddress& address : addresses)
            if (const auto mac = kernel::find_holder(*frame, address, mac_))
                return AddressHolder{.address = address, .mac = *mac};
    }
    return std::nullopt;
}

} // namespace rdmanet::kernel
