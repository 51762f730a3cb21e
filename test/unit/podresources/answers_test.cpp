#include "answers.hpp"
#include "protobuf.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <string_view>

using namespace rdmanet::podresources;
using Catch::Contains;

namespace {

using namespace std::string_view_literals;

std::string field(unsigned number, const std::string& content) {
    return std::string{static_cast<char>(number << 3U | 2U), static_cast<char>(content.size())} + content;
}

} // namespace

TEST_CASE("a reader of messages skips numbers, and gives the rest in its order") {
    MessageReader reader("\x08\x96\x01\x12\x02hi\x19"
                         "12345678\x25"
                         "1234\x1a\x00"sv);
    const auto text = reader.next();
    REQUIRE(text);
    CHECK((text->number == 2 && text->content == "hi"));
    const auto empty = reader.next();
    REQUIRE(empty);
    CHECK((empty->number == 3 && empty->content.empty()));
    CHECK_FALSE(reader.next());
}

TEST_CASE("bytes that are no message are refused, and nothing behind them is read") {
    const auto next = [](std::string_view bytes) { (void)MessageReader(bytes).next(); };
    CHECK_THROWS_WITH(next("\x12\x05hi"sv), Contains("5 bytes are announced, and 2 are left"));
    CHECK_THROWS_WITH(next("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01hi"sv), Contains("18446744073709551615 bytes"));
    CHECK_THROWS_WITH(next("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02hi"sv), Contains("more than 64 bits"));
    CHECK_THROWS_WITH(next("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv), Contains("more than 64 bits"));
    CHECK_THROWS_WITH(next("\x08\x80"sv), Contains("0 are left"));
    CHECK_THROWS_WITH(next("\x02\x00"sv), Contains("field number 0"));
    CHECK_THROWS_WITH(next("\x80\x80\x80\x80\x10\x00"sv), Contains("field number 536870912"));
    CHECK_THROWS_WITH(next("\x13"sv), Contains("field 2 has wire type 3"));
    CHECK_THROWS_WITH(next("\x19"
                           "1234567"sv),
                      Contains("8 bytes are announced"));
}

TEST_CASE("the answers' fields are those of api.proto, and newer ones are skipped") {
    const std::string devices = field(1, "example.com/vf") + field(2, "0000:3b:00.2") + field(2, "17") + field(9, "x");
    const std::string pod = field(1, "till") + field(2, "shop") + field(3, field(1, "main") + field(2, devices));
    const auto pods = parse_pods(field(1, pod) + field(7, "new"));
    REQUIRE(pods.size() == 1);
    CHECK((pods[0].name_space == "shop" && pods[0].name == "till"));
    REQUIRE(pods[0].devices.size() == 1);
    CHECK(pods[0].devices[0].resource == "example.com/vf");
    CHECK(pods[0].devices[0].ids == std::vector<std::string>{"0000:3b:00.2", "17"});

    const auto allocatable = parse_allocatable(field(1, devices) + std::string("\x12\x01\x07"));
    REQUIRE(allocatable.size() == 1);
    CHECK(allocatable[0].ids.size() == 2);
    CHECK_THROWS_WITH(parse_allocatable(field(1, field(1, "a\xff"))), Contains("UTF-8"));
    CHECK_THROWS_WITH(parse_pods(field(1, field(3, "\x12\x04"))), Contains("4 bytes are announced"));
    CHECK(parse_pods("").empty());
}
