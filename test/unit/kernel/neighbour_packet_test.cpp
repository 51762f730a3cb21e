#include <rdmanet/kernel/neighbour_packet.hpp>

#include <catch2/catch.hpp>

#include <array>

namespace rdmanet::kernel {
namespace {

using base::IpAddress;
using base::MacAddress;
using Frame = std::vector<unsigned char>;

const MacAddress kOurs = *MacAddress::parse("02:11:22:33:44:55");
const MacAddress kTheirs = *MacAddress::parse("02:aa:bb:cc:dd:ee");
const IpAddress kV4 = *IpAddress::parse("192.0.2.7");
const IpAddress kV6 = *IpAddress::parse("2001:db8::5");

Frame part(const Frame& frame, std::size_t from, std::size_t count) {
    const auto at = frame.begin() + static_cast<std::ptrdiff_t>(from);
    return {at, at + static_cast<std::ptrdiff_t>(count)};
}

/// One's complement sum over 16-bit words. It is 0xffff if the checksum is right (RFC 1071).
unsigned sum_of(const Frame& bytes) {
    unsigned sum = 0;
    for (std::size_t at = 0; at + 1 < bytes.size(); at += 2) sum += bytes[at] * 256U + bytes[at + 1];
    while (sum > 0xffffU) sum = (sum & 0xffffU) + (sum >> 16U);
    return sum;
}

unsigned icmp_sum(const Frame& frame) {
    Frame pseudo = part(frame, 14 + 8, 32);
    pseudo.insert(pseudo.end(), {0, 0, 0, frame[14 + 5], 0, 0, 0, 58});
    pseudo.insert(pseudo.end(), frame.begin() + 54, frame.end());
    return sum_of(pseudo);
}

/// The answer of `who`, which has the address.
Frame answer_to(const MacAddress& who, const IpAddress& address) {
    Frame frame = address_announcement(who, address);
    if (address.is_v4()) frame[14 + 7] = 2; // ARP reply
    return frame;
}

TEST_CASE("an ARP probe has no sender address, and an announcement has the address as sender and target") {
    const Frame frame = address_probe(kOurs, kV4);
    REQUIRE(frame.size() == 42);
    CHECK(part(frame, 0, 14) == Frame{255, 255, 255, 255, 255, 255, 2, 0x11, 0x22, 0x33, 0x44, 0x55, 8, 6});
    CHECK(part(frame, 14, 8) == Frame{0, 1, 8, 0, 6, 4, 0, 1});
    CHECK(part(frame, 28, 4) == Frame{0, 0, 0, 0});
    CHECK(part(frame, 38, 4) == Frame{192, 0, 2, 7});
    const Frame announcement = address_announcement(kOurs, kV4);
    for (const std::size_t at : {28U, 38U}) CHECK(part(announcement, at, 4) == Frame{192, 0, 2, 7});
}

TEST_CASE("a neighbour solicitation of duplicate address detection has no source, and its destination is the address's "
          "group") {
    const Frame frame = address_probe(kOurs, kV6);
    REQUIRE(frame.size() == 14 + 40 + 24);
    CHECK(part(frame, 0, 6) == Frame{0x33, 0x33, 0xff, 0, 0, 5});
    CHECK(frame[14 + 7] == 255); // hop limit
    CHECK(part(frame, 22, 16) == Frame(16, 0));
    CHECK(part(frame, 38, 16) == Frame{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 5});
    CHECK(frame[54] == 135);
    CHECK(icmp_sum(frame) == 0xffff);
}

TEST_CASE("a neighbour advertisement overrides, names its MAC and has the right checksum") {
    const Frame frame = address_announcement(kOurs, kV6);
    REQUIRE(frame.size() == 14 + 72);
    CHECK(part(frame, 0, 6) == Frame{0x33, 0x33, 0, 0, 0, 1});
    CHECK(frame[14 + 5] == 32);  // payload bytes
    CHECK(frame[14 + 7] == 255); // hop limit
    CHECK(frame[54] == 136);
    CHECK(frame[58] == 0x20); // override, not solicited
    CHECK(part(frame, 22, 16) == part(frame, 62, 16));
    CHECK(part(frame, 78, 8) == Frame{2, 1, 0x02, 0x11, 0x22, 0x33, 0x44, 0x55});
    CHECK(icmp_sum(frame) == 0xffff);
}

TEST_CASE("a host that answers, announces or probes for an address has it") {
    for (const IpAddress& address : {kV4, kV6}) {
        INFO(address.to_string());
        CHECK(find_holder(answer_to(kTheirs, address), address, kOurs) == kTheirs);
        CHECK(find_holder(address_announcement(kTheirs, address), address, kOurs) == kTheirs);
        CHECK(find_holder(address_probe(kTheirs, address), address, kOurs) == kTheirs);
    }
}

TEST_CASE(
    "a host that only asks for an address, has another one, is ourselves or may be behind a router does not have it") {
    for (const IpAddress& address : {kV4, kV6}) {
        INFO(address.to_string());
        CHECK_FALSE(find_holder(address_probe(kOurs, address), address, kOurs)); // a switch may send it back
        const IpAddress other(address.family(), address.value() + 1);
        CHECK_FALSE(find_holder(answer_to(kTheirs, other), address, kOurs));
        CHECK_FALSE(find_holder(address_probe(kTheirs, other), address, kOurs));
    }
    Frame request = address_announcement(kTheirs, *IpAddress::parse("192.0.2.9"));
    std::copy_n(kV4.bytes().begin(), 4, request.begin() + 38); // 192.0.2.9 asks for it
    CHECK_FALSE(find_holder(request, kV4, kOurs));
    Frame solicitation = address_probe(kTheirs, kV6);
    solicitation[22] = 0xfe; // from an address
    CHECK_FALSE(find_holder(solicitation, kV6, kOurs));
    Frame forwarded = answer_to(kTheirs, kV6);
    forwarded[14 + 7] = 254;
    CHECK_FALSE(find_holder(forwarded, kV6, kOurs));
}

TEST_CASE("truncated frames prove nothing and are not read beyond their end") {
    for (const IpAddress& address : {kV4, kV6}) {
        const Frame whole = answer_to(kTheirs, address);
        const std::size_t needed = address.is_v4() ? 42 : 78;
        for (std::size_t size = 0; size < needed; ++size) {
            const Frame cut = part(whole, 0, size);
            CHECK_FALSE(find_holder(cut, address, kOurs));
        }
        CHECK(find_holder(part(whole, 0, needed), address, kOurs) == kTheirs);
    }
}

} // namespace
} // namespace rdmanet::kernel
