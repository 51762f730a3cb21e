#include "support/names.hpp"

#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <functional>

using namespace rdmanet;
using Catch::Matchers::Contains;
using json::Document;
using rdmanet::test::Names;
using namespace rdmanet::json;

namespace {

std::string message_of(const std::function<void()>& act) {
    try {
        act();
    } catch (const json::ValueError& error) {
        return error.what();
    }
    return "no error";
}

} // namespace

TEST_CASE("values are found by path, and errors have the path") {
    const Document document = Document::parse(R"({"ipam": {"ranges": [{"start": "x"}, {"start": 7}]}, "mtu": "1400"})");
    const auto ranges = document.root().at("ipam").at("ranges").elements();
    CHECK(ranges.at(1).at("start").path() == "ipam.ranges[1].start");
    CHECK_THAT(message_of([&] { (void)ranges[1].at("start").string(); }), Names("ipam.ranges[1].start", "string", "7"));
    CHECK_THAT(message_of([&] { (void)document.root().at("mtu").integer(68, 9216); }),
               Names("mtu", "from 68 to 9216", "\"1400\""));
    CHECK_THAT(message_of([&] { (void)ranges[0].at("end"); }), Names("ipam.ranges[0]", "missing", "end"));
    CHECK_THAT(message_of([&] { (void)document.root().at("name"); }), Names("missing", "name"));
    CHECK_THAT(message_of([&] { (void)document.root().at("ipam").boolean(); }),
               Names("ipam", "true or false", "object"));
    CHECK_THAT(message_of([&] { (void)document.root().at("mtu").find("x"); }), Names("mtu", "object", "\"1400\""));
    CHECK_THAT(message_of([&] { (void)document.root().elements(); }), Names("array", "object"));
}

TEST_CASE("keys match without regard to case, and the last duplicate and the exact spelling win") {
    const Document document = Document::parse(R"({"MASTER": "a", "mtu": 1, "mtu": 2, "MTU": 3})");
    CHECK(document.root().at("master").string() == "a");
    CHECK_FALSE(document.root().find("mast"));
    CHECK(document.root().at("mtu").integer(0, 9) == 2);
}

TEST_CASE("null counts as absent, unless the caller asks for it") {
    const Document document = Document::parse(R"({"mac": null, "list": [null]})");
    CHECK_FALSE(document.root().find("mac"));
    CHECK_FALSE(document.root().find_or_null("absent"));
    REQUIRE(document.root().find_or_null("MAC"));
    CHECK(document.root().find_or_null("mac")->is_null());
    CHECK(document.root().members().size() == 1);
    CHECK_THAT(message_of([&] { (void)document.root().at("mac"); }), Names("missing", "mac"));
    CHECK_THAT(message_of([&] { (void)document.root().at("list").elements().at(0).string(); }),
               Names("list[0]", "string", "null"));
}

TEST_CASE("whole numbers are neither fractions nor overflow") {
    const Document document = Document::parse(
        R"([0, -1, 9223372036854775807, 9223372036854775808, 18446744073709551616, 1.5, 1.0, 1e2, true])");
    const auto elements = document.root().elements();
    CHECK(elements[0].integer(0, 0) == 0);
    CHECK(elements[1].integer(-1, 0) == -1);
    CHECK(elements[2].integer(0, INT64_MAX) == INT64_MAX);
    for (std::size_t at = 3; at < elements.size(); ++at)
        CHECK_THROWS_AS(elements[at].integer(INT64_MIN, INT64_MAX), json::ValueError);
    CHECK_THROWS_AS(elements[1].integer(0, 5), json::ValueError);
}

TEST_CASE("invalid JSON, text that is not UTF-8 and deep nesting are refused with their place") {
    CHECK_THROWS_WITH(Document::parse("{\"a\": 1,\n \"b\" 2}"), Contains("line 2, column"));
    for (const char* text :
         {"", " ", "{", "{\"a\":1,}", "{a:1}", "[1]x", "// c\n{}", "{'a':1}", "nul", "01", "\"\x01\"", "\"\\ud800\"",
          "[NaN]", "\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "{\"\x80\": 1}"})
        CHECK_THROWS_AS(Document::parse(text), json::ParseError);
    CHECK(Document::parse("\"\xe2\x82\xac\"").root().string() == "\xe2\x82\xac");
    const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
    CHECK_NOTHROW(Document::parse(nested(60)));
    CHECK_THROWS_WITH(Document::parse(nested(70)), Names("nested", "64 levels"));
    CHECK_THROWS_AS(Document::parse(std::string(1'000'000, '[')), json::ParseError);
}

TEST_CASE("long values are shortened for messages, between characters") {
    std::string euros;
    for (int count = 0; count < 100; ++count) euros += "\xe2\x82\xac";
    const std::string shown = Document::parse("\"" + euros + "\"").root().shown();
    CHECK(shown.ends_with("\xe2\x82\xac..."));
    CHECK(shown.size() <= 123);
}

TEST_CASE("a document is written back whole") {
    const Document document = Document::parse(R"({ "a" : [ 1 , null, "x" ] })");
    CHECK(document.root().to_text() == R"({"a":[1,null,"x"]})");
    CHECK(document.root().at("a").to_text() == R"([1,null,"x"])");
    const Document copy = document; // NOLINT: the test is that a copy keeps the content alive
    CHECK(copy.root().is_object());
    CHECK(copy.root().at("a").is_array());
}

TEST_CASE("compact documents have no white space") {
    Writer writer;
    writer.begin_object().member("a", 1).member("b", "x").key("c").begin_array().value(true).value(-1).end_array();
    writer.key("d").begin_object().end_object().key("e").begin_array().end_array().key("f").raw("{\"g\":1}");
    CHECK(writer.end_object().to_text() == R"({"a":1,"b":"x","c":[true,-1],"d":{},"e":[],"f":{"g":1}})");
}

TEST_CASE("indented documents look like Go's") {
    Writer writer(Layout::indented);
    writer.begin_object().member("a", 1).key("list").begin_array().value("x").begin_object().end_object().end_array();
    CHECK(writer.key("empty").begin_array().end_array().end_object().to_text() == R"({
    "a": 1,
    "list": [
        "x",
        {}
    ],
    "empty": []
})");
}

TEST_CASE("every number and text becomes valid JSON and is read back unchanged, and other bytes are replaced") {
    Writer numbers;
    numbers.begin_array().value(INT64_MIN).value(UINT64_MAX).end_array();
    CHECK(numbers.to_text() == "[-9223372036854775808,18446744073709551615]");
    const std::string awkward("\"\\\b\f\n\r\t\x01\x7f/\xe2\x82\xac\0end", 17);
    Writer writer;
    writer.begin_object().member(awkward, awkward).end_object();
    const Document document = Document::parse(writer.to_text());
    CHECK(document.root().at(awkward).string() == awkward);
    Writer bytes;
    bytes.value("z\xffz");
    CHECK(bytes.to_text() == "\"z\xef\xbf\xbdz\"");
}
