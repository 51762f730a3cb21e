#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <catch2/catch.hpp>

#include <cstdint>

using namespace rdmanet::json;

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
