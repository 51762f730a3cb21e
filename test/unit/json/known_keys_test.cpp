#include "support/names.hpp"

#include <rdmanet/json/known_keys.hpp>

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace rdmanet::json;
using rdmanet::test::Names;
using Warnings = std::vector<std::string>;

namespace {

constexpr KnownKey kUsed[] = {{"master"}, {"mtu"}, {"cni.dev/"}};
constexpr KnownKey kMissing[] = {{"masters", "ignored, one is enough"}};

Warnings warnings_of(const std::string& text) {
    const Document document = Document::parse(text);
    KeyWarnings warnings;
    warn_of_keys(document.root(), {kUsed, kMissing}, warnings);
    return warnings.texts;
}

} // namespace

TEST_CASE("known keys match without regard to case, and a key with a final slash matches as a prefix") {
    CHECK(warnings_of(R"({"MASTER": 1, "Mtu": 1, "cni.dev/x": 1, "CNI.dev/y": 1, "absent": null})").empty());
    CHECK(warnings_of(R"({"cni.dev/": 1})") == Warnings{"cni.dev/: unknown key, ignored"});
}

TEST_CASE("if keys differ only in the case of letters, the ones that are not read produce a warning") {
    CHECK(warnings_of(R"({"master": 1, "Master": 1})") ==
          Warnings{R"(Master: ignored, because "master" is the same key: remove one of them)"});
    for (const char* text : {R"({"Master": 1, "MASTER": 2})", R"({"MASTER": 2, "mAster": 3, "master": 1})"}) {
        const Document document = Document::parse(text);
        KeyWarnings warnings;
        warn_of_keys(document.root(), {kUsed}, warnings);
        CHECK(warnings.useless.idle.size() + 1 == document.root().members().size());
        const std::string read = document.root().find("master")->to_text();
        for (const auto& [key, value] : document.root().members())
            CHECK((value.to_text() == read) == (warnings.texts.front().find("because \"" + key) != std::string::npos));
    }
}

TEST_CASE("a caveat is reported if the value requests something") {
    CHECK(warnings_of(R"({"masters": ["eth1"]})") == Warnings{"masters: ignored, one is enough"});
    for (const char* nothing : {"false", "0", "\"\"", "[]", "{}", "null"})
        CHECK(warnings_of(std::string(R"({"masters": )") + nothing + "}").empty());
}

TEST_CASE("unknown keys and keys with a caveat are listed separately") {
    const Document document = Document::parse(R"({"masters": ["eth1"], "mtus": 1, "x": 1, "mtu": 1})");
    KeyWarnings warnings;
    warn_of_keys(document.root(), {kUsed, kMissing}, warnings);
    CHECK(warnings.texts.size() == 3);
    CHECK(warnings.useless.unknown == Warnings{"mtus: unknown key (did you mean \"mtu\"?)", "x: unknown key"});
    CHECK(warnings.useless.idle == Warnings{"masters: has no effect, one is enough"});
}

TEST_CASE("a used key that differs by a letter or two is suggested") {
    const auto suggestion = [](const std::string& key) {
        const std::string warning = warnings_of("{\"" + key + "\": 1}").at(0);
        const auto begin = warning.find("did you mean \"");
        return begin == std::string::npos ? "" : warning.substr(begin + 14, warning.rfind('"') - begin - 14);
    };
    for (const char* key : {"mater", "maser", "mastre", "amster", "masterr", "MASTR", "m_aster"})
        CHECK(suggestion(key) == "master");
    for (const char* key : {"mt", "mtus", "mta", "tmu", "mut"}) CHECK(suggestion(key) == "mtu");
    for (const char* key : {"", "m", "mac", "mast-ers1", "muster1x", "mtuxx", "cni.de"}) CHECK(suggestion(key) == "");
}

TEST_CASE("long keys, control characters and many keys produce short warnings") {
    const std::string length(100'000, 'k');
    CHECK(warnings_of("{\"" + length + "\": 1}") ==
          Warnings{"\"" + length.substr(0, 64) + "\"...: unknown key, ignored"});
    CHECK(warnings_of(R"({"a\u001b[31m": 1})") == Warnings{R"("a\x1b[31m": unknown key, ignored)"});
    std::string many = "{";
    for (int key = 0; key < 21; ++key) many += (key == 0 ? "\"key-" : ",\"key-") + std::to_string(key) + "\": 1";
    CHECK(warnings_of(many + "}").size() == 21);
    CHECK_THAT(warnings_of(many + "}").back(), Names("more keys", "ignored"));
}
