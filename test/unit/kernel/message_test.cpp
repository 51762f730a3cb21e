#include "message.hpp"

#include <rdmanet/base/error.hpp>

#include <catch2/catch.hpp>

#include <linux/rtnetlink.h>

namespace rdmanet::kernel {
namespace {

Attributes attributes_in(const std::vector<unsigned char>& bytes) {
    return Attributes(Bytes(bytes));
}

TEST_CASE("a message is read back as it was written") {
    rtgenmsg header{};
    header.rtgen_family = 7;
    Message message(RTM_GETNSID, NLM_F_ACK, header);
    message.put_u8(1, 200);
    message.put_u16(2, 60000);
    message.put_u32(3, 0xdeadbeef);
    message.put_text(4, "net1");
    message.nest(5, [&] { message.put_u32(6, 42); });

    CHECK(message.header().nlmsg_flags == (NLM_F_REQUEST | NLM_F_ACK));
    const auto parsed = parse_message<rtgenmsg>(message.header(), RTM_GETNSID);
    REQUIRE(parsed);
    const Attributes& attributes = parsed->second;
    CHECK(parsed->first.rtgen_family == 7);
    CHECK(attributes.find_u8(1) == 200);
    CHECK(attributes.find_u16(2) == 60000);
    CHECK(attributes.find_u32(3) == 0xdeadbeef);
    CHECK(attributes.text(4) == "net1");
    CHECK(attributes.nest(5).find_u32(6) == 42U);
    CHECK_FALSE(parse_message<rtgenmsg>(message.header(), RTM_NEWLINK));
}

TEST_CASE("attributes of a wrong size or number count as absent, and malformed ones end the reading") {
    const auto bytes = std::vector<unsigned char>{8, 0, 3, 0, 1, 2, 3, 4};
    CHECK(attributes_in(bytes).find_u32(3) == 0x04030201U);
    CHECK_FALSE(attributes_in(bytes).find_u16(3));
    CHECK_FALSE(attributes_in(bytes).find_u32(4));
    std::optional<std::uint16_t> too_small;
    std::uint8_t unchanged = 7;
    std::uint32_t number = 0;
    attributes_in(bytes).read({{3, &too_small}, {3, &unchanged}, {3, &number}, {4, &unchanged}});
    CHECK_FALSE(too_small);
    CHECK((unchanged == 7 && number == 0x04030201U));
    CHECK(attributes_in(bytes).text(4).empty());
    CHECK_FALSE(attributes_in(bytes).nest(4).find_u32(1));
    CHECK_FALSE(attributes_in({}).find(1));
    CHECK_FALSE(attributes_in({8, 0}).find(1));
    CHECK_FALSE(attributes_in({8, 0, 1, 0}).find(1));             // claims more than the message has
    CHECK_FALSE(attributes_in({2, 0, 1, 0, 0, 0, 0, 0}).find(1)); // shorter than its own header
    CHECK_FALSE(attributes_in({0, 0, 1, 0, 4, 0, 2, 0}).find(2));
    // A text ends at its first zero byte, or with its attribute.
    CHECK(attributes_in({7, 0, 1, 0, 'a', 'b', 'c', 0}).text(1) == "abc");
    CHECK(attributes_in({8, 0, 1, 0, 'a', 0, 'c', 0}).text(1) == "a");
    const auto nest = std::vector<unsigned char>{12, 0, 5, 0x80, 8, 0, 1, 0x40, 9, 0, 0, 0};
    CHECK(attributes_in(nest).nest(5).find_u32(1) == 9U);
}

TEST_CASE("a message that would be too large is refused") {
    Message message(RTM_GETNSID, 0, rtgenmsg{});
    CHECK_THROWS_AS(message.put_text(1, std::string(60000, 'x')), base::SystemError);
}

} // namespace
} // namespace rdmanet::kernel
