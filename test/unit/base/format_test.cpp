#include <rdmanet/base/child_kind.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/vf_settings.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <string>

using namespace rdmanet::base;

TEST_CASE("fmt writes a value by its to_string(), member or function") {
    CHECK(fmt::format("{}/{}", IpAddress(Family::v4, 0x0a000001), 24) == "10.0.0.1/24");
    CHECK(fmt::format("{} of {}", VfLinkState::enable, Macvlan{}) == "enable of macvlan mode bridge");
    CHECK(fmt::format("{}{}{}{}", 'a', std::uint8_t{7}, INT64_MIN, UINT64_MAX) ==
          "a7-922337203685477580818446744073709551615");
}

TEST_CASE("fmt passes every byte of a text, valid UTF-8 or not") {
    for (const std::string& text : {std::string("\xff\xc3"), std::string("a\0b", 3), std::string("\xed\xa0\x80"),
                                    std::string("{}"), std::string(100'000, '\x80')})
        CHECK(fmt::format("{}|{}", text, std::string_view(text)) == text + '|' + text);
}
