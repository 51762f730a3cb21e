#include <rdmanet/base/hash.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/secret.hpp>
#include <rdmanet/base/text.hpp>

#include <catch2/catch.hpp>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

using namespace rdmanet::base;

TEST_CASE("a text is shortened between two characters") {
    CHECK(shortened("gr\xc3\xbc\xc3\x9f", 6) == "gr\xc3\xbc\xc3\x9f");
    CHECK(shortened("gr\xc3\xbc\xc3\x9f", 5) == "gr\xc3\xbc...");
    CHECK(shortened("gr\xc3\xbc\xc3\x9f", 3) == "gr...");
    CHECK(shortened("\x80\x80", 1) == "...");
}

TEST_CASE("a list has its separator between its values only") {
    using Pair = std::pair<std::string_view, int>;
    CHECK(join(std::set<std::string>()).empty());
    CHECK(join(std::set<std::string>{"", "a"}, ",") == ",a");
    CHECK(join(std::array{*IpAddress::parse("::1"), *IpAddress::parse("10.0.0.1")}) == "::1, 10.0.0.1");
    CHECK(join(std::array{Pair{"b", 1}, Pair{"a", 2}}, " and ", &Pair::first) == "b and a");
}

TEST_CASE("a word for a shell is one word there, whatever it holds") {
    CHECK(shell_word("eth0.100") == "eth0.100");
    CHECK(shell_word("") == "''");
    CHECK(shell_word("a;reboot") == "'a;reboot'");
    CHECK(shell_word("it's $HOME") == R"('it'\''s $HOME')");
    CHECK(shell_word("a\nb'\\\xff") == R"($'a\x0ab\'\x5c\xff')");
}

TEST_CASE("quoted shows hostile bytes without letting them act") {
    CHECK(quoted("plain") == "\"plain\"");
    CHECK(quoted("a\"b\\c") == R"("a\"b\\c")");
    CHECK(quoted("line\nbreak\x1b[31m\x7f") == R"("line\x0abreak\x1b[31m\x7f")");
    CHECK(quoted("\xc2\x9b"
                 "31m") == R"("\xc2\x9b31m")"); // CSI of C1
    CHECK(quoted("gr\xc3\xbc\xc3\x9f") == "\"gr\xc3\xbc\xc3\x9f\"");
    CHECK(quoted("\xff\xc3") == R"("\xff\xc3")");
    CHECK(quoted(std::string_view("a\0b", 3)) == R"("a\x00b")");
    CHECK(quoted("abcdef", 3) == "\"abc\"...");
    CHECK(quoted("ab\xc3\xbc", 3) == "\"ab\xc3\xbc\""); // never cut inside a sequence
}

TEST_CASE("UTF-8 is as RFC 3629 defines it, and JSON can also hold control characters") {
    for (const char* good :
         {"", "a", "\xc2\xa0", "\xe2\x82\xac", "\xed\x9f\xbf", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
        CHECK(is_printable_utf8(good));
    for (const char* bad : {"\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf0\x80\x80\xaf",
                            "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xc2", "a\tb", "\x7f", "\xc2\x85"})
        CHECK_FALSE(is_printable_utf8(bad));
    for (const char* good : {"", "a\tb", "\x7f", "\xc2\x85", "\xf4\x8f\xbf\xbf"}) CHECK(is_utf8(good));
    for (const char* bad : {"\x80", "a\xff", "\xc0\xaf", "\xed\xa0\x80", "\xe2\x82"}) CHECK_FALSE(is_utf8(bad));
}

TEST_CASE("case folding changes ASCII letters only") {
    CHECK(equals_ignoring_case("deviceID", "DeviceId"));
    CHECK_FALSE(equals_ignoring_case("mac", "mac "));
    CHECK_FALSE(equals_ignoring_case("\xc3\x84", "\xc3\xa4"));
    CHECK(to_lower("AZaz[@09") == "azaz[@09");
}

TEST_CASE("integers are whole, in range and without other characters") {
    CHECK(parse_integer<unsigned>("0") == 0U);
    CHECK(parse_integer<unsigned>("4294967295") == UINT32_MAX);
    CHECK(parse_integer<int>("-5") == -5);
    CHECK(parse_integer<unsigned>("ff", 16) == 255U);
    for (const char* bad : {"", " 1", "1 ", "+1", "-1", "4294967296", "1.0", "0x1", "1e3"})
        CHECK_FALSE(parse_integer<unsigned>(bad));
}

TEST_CASE("the hash is the same in every version, because its values are on disk") {
    CHECK(hash64("") == 0xf52a15e9a9b5e89bULL);
    CHECK(hash64("container:net1:roce.json") == 0xa8f807ed241c40dULL);
}

TEST_CASE("a secret is hidden however often JSON has escaped it") {
    CHECK(without_secret("a secret, secret", "secret") == "a ..., ...");
    CHECK(without_secret("nothing to hide", "secret") == "nothing to hide");
    CHECK(without_secret("nothing to hide", "") == "nothing to hide");
    CHECK(without_secret("sesecret", "secret") == "se...");
    for (const char* written : {R"(p"w\d)", R"(p\"w\\d)", R"(p\\\"w\\\\d)", R"(p\u0022w\u005cd)", R"(\u0070\"w\\d)"})
        CHECK(without_secret(std::string("<") + written + ">", R"(p"w\d)") == "<...>");
    CHECK(without_secret(R"({"password":"a\u003c\u0026"})", "a<&") == R"({"password":"..."})");
    for (const char* other : {R"(p"wd)", R"(pw\d)", R"(p"w\)", R"(p\u0023w\d)"})
        CHECK(without_secret(other, R"(p"w\d)") == other);
}
