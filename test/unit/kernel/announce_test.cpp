#include <rdmanet/kernel/address.hpp>
#include <rdmanet/kernel/announce.hpp>

#include "fixture.hpp"

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace rdmanet::kernel {
namespace {

using base::IpAddress;
using base::MacAddress;
using Packet = std::vector<unsigned char>;

MacAddress some_mac() {
    return *MacAddress::parse("02:11:22:33:44:55");
}

/// One's complement sum over 16-bit words: 0xffff where the checksum inside is right (RFC 1071).
unsigned sum_of(const Packet& bytes) {
    unsigned sum = 0;
    for (std::size_t at = 0; at + 1 < bytes.size(); at += 2) sum += bytes[at] * 256U + bytes[at + 1];
    while (sum > 0xffffU) sum = (sum & 0xffffU) + (sum >> 16U);
    return sum;
}

TEST_CASE("a neighbour advertisement overrides, names its MAC and has the right checksum") {
    const Packet packet = neighbour_advertisement(some_mac(), *IpAddress::parse("2001:db8::5"));
    REQUIRE(packet.size() == 72);
    CHECK(packet[0] == 0x60);
    CHECK(packet[5] == 32);  // payload bytes
    CHECK(packet[6] == 58);  // ICMPv6
    CHECK(packet[7] == 255); // hop limit
    CHECK(packet[40] == 136);
    CHECK(packet[44] == 0x20); // override, not solicited
    CHECK(Packet(packet.begin() + 8, packet.begin() + 24) == Packet(packet.begin() + 48, packet.begin() + 64));
    CHECK(Packet(packet.begin() + 64, packet.end()) == Packet{2, 1, 0x02, 0x11, 0x22, 0x33, 0x44, 0x55});
    Packet pseudo(packet.begin() + 8, packet.begin() + 40);
    pseudo.insert(pseudo.end(), {0, 0, 0, 32, 0, 0, 0, 58});
    pseudo.insert(pseudo.end(), packet.begin() + 40, packet.end());
    CHECK(sum_of(pseudo) == 0xffff);
}

/// Frames of one protocol that arrive at an interface.
class Listener {
public:
    Listener(const Netns& netns, unsigned ifindex, std::uint16_t protocol) {
        const NetnsScope scope(netns);
        fd_ = base::UniqueFd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
        sockaddr_ll address{};
        address.sll_family = AF_PACKET;
        address.sll_protocol = htons(protocol);
        address.sll_ifindex = static_cast<int>(ifindex);
        REQUIRE(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    }

    /// The kernel itself sends much over a fresh interface: `wanted` picks.
    [[nodiscard]] bool hears(const Packet& wanted) const {
        for (;;) {
            pollfd waiting{.fd = fd_.get(), .events = POLLIN, .revents = 0};
            if (::poll(&waiting, 1, 2000) != 1) return false;
            Packet frame(2000);
            const auto count = ::recv(fd_.get(), frame.data(), frame.size(), 0);
            frame.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
            if (frame.size() >= 14 && Packet(frame.begin() + 14, frame.end()) == wanted) return true;
        }
    }

private:
    base::UniqueFd fd_;
};

TEST_CASE("neighbours hear an announcement from another namespace") {
    NEEDS_NETNS();
    test::Host host;
    const std::array addresses = {*IpAddress::parse("2001:db8::5")};
    add_address(host.route, host.parent.ifindex, *base::IpPrefix::parse("2001:db8::5/64"),
                {.skip_duplicate_detection = true});
    const Listener ipv6(host.netns, *host.parent.parent_ifindex, ETH_P_IPV6);
    announce_ipv6(host.netns, host.parent.ifindex, some_mac(), addresses);
    CHECK(ipv6.hears(neighbour_advertisement(some_mac(), addresses[0])));
}

TEST_CASE("an interface that is down announces nothing") {
    NEEDS_NETNS();
    test::Host host;
    change_link(host.route, host.parent.ifindex, {.name = {}, .mac = {}, .mtu = {}, .state = AdminState::down});
    const std::array addresses = {*IpAddress::parse("2001:db8::5")};
    CHECK_THROWS_AS(announce_ipv6(host.netns, host.parent.ifindex, some_mac(), addresses), base::SystemError);
    CHECK_NOTHROW(announce_ipv6(host.netns, host.parent.ifindex, some_mac(), {}));
}

} // namespace
} // namespace rdmanet::kernel
