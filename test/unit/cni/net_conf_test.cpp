#include "support/names.hpp"

#include <rdmanet/cni/error.hpp>
#include <rdmanet/cni/net_conf.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet;
using cni::SpecVersion;
using cni::Strictness;
using rdmanet::test::Names;

namespace {

cni::NetConf conf_of(const std::string& text, Strictness strictness = Strictness::strict) {
    return cni::parse_net_conf(text, strictness);
}

std::string refusal(const std::string& text) {
    try {
        (void)conf_of(text);
    } catch (const cni::CniError& error) {
        return std::to_string(error.code()) + " " + error.what();
    }
    return "accepted";
}

} // namespace

TEST_CASE("the protocol's part of a configuration is parsed, in any case of letters") {
    const auto conf =
        conf_of(R"({"cniVersion": "1.0.0", "name": "roce", "type": "rdmanet", "ipam": {"type": "host-local"},
        "dns": {"nameservers": ["10.0.0.53"], "search": ["a.b"]}, "capabilities": {"ips": true}, "unknown": [1]})");
    CHECK(conf.version == SpecVersion::v1_0_0);
    CHECK(conf.name == "roce");
    CHECK(conf.type == "rdmanet");
    CHECK(conf.ipam_type == "host-local");
    CHECK(conf.dns.nameservers.at(0) == "10.0.0.53");
    CHECK_FALSE(conf.prev_result);
    CHECK_FALSE(conf.valid_attachments);
    CHECK(conf.warnings.empty());
    CHECK(conf.document.root().find("unknown"));
    CHECK(conf_of(R"({"CNIVersion": "0.4.0", "NAME": "n"})").version == SpecVersion::v0_4_0);
}

TEST_CASE("an absent ipam, an empty one and an empty type all mean no IPAM") {
    for (const char* ipam : {"null", "{}", R"({"type": ""})", R"({"type": null, "subnet": "x"})"})
        CHECK_FALSE(conf_of(std::string(R"({"name": "n", "ipam": )") + ipam + "}").ipam_type);
    CHECK_THROWS_WITH(conf_of(R"({"name": "n", "ipam": "host-local"})"), Names("ipam", "object", "host-local"));
}

TEST_CASE("invalid names and versions are refused") {
    CHECK(refusal("{}").starts_with("7 name: missing"));
    CHECK(refusal(R"({"name": ""})").starts_with("7 name: missing"));
    for (const char* name : {"a/b", "..", "a b", "-a", "a:b"})
        CHECK(refusal(std::string(R"({"name": ")") + name + "\"}").starts_with("7 name: expected"));
    CHECK_THAT(refusal(R"({"name": "n", "cniVersion": "1.0"})"),
               Names("1 incompatible", "cniVersion \"1.0\"", "0.1.0", "1.1.0"));
    CHECK(conf_of(R"({"name": "n"})").version == SpecVersion::v0_1_0);
    CHECK_THROWS_WITH(conf_of(R"({"name": 7})"), Names("name", "string", "7"));
    CHECK_THROWS_AS(conf_of("[]"), json::ValueError);
    CHECK_THROWS_AS(conf_of(""), json::ParseError);
}

TEST_CASE("the previous result has its own version or the configuration's") {
    const auto conf =
        conf_of(R"({"name": "n", "cniVersion": "1.0.0", "prevResult": {"ips": [{"address": "10.0.0.1/24"}]}})");
    REQUIRE(conf.prev_result);
    CHECK(conf.prev_result->ips.size() == 1);
    const auto old = conf_of(R"({"name": "n", "cniVersion": "1.0.0",
        "prevResult": {"cniVersion": "0.2.0", "ip4": {"ip": "10.0.0.1/24"}}})");
    CHECK(old.prev_result->ips.size() == 1);
    CHECK(conf_of(R"({"name": "n", "cniVersion": "1.0.0", "prevResult": {}})").prev_result);
}

TEST_CASE("keys that DEL does not need cannot stop it") {
    const std::string text =
        R"({"cniVersion": "1.0.0", "name": "n", "type": 1, "ipam": [], "dns": "x", "prevResult": {"ips": [{"address": "x"}]}})";
    CHECK_THROWS_AS(conf_of(text), json::ValueError);
    const auto conf = conf_of(text, Strictness::lenient);
    CHECK(conf.name == "n");
    CHECK_FALSE(conf.prev_result);
    CHECK_FALSE(conf.ipam_type);
    REQUIRE(conf.warnings.size() == 4);
    CHECK_THAT(conf.warnings[0], Names("ignored", "type", "string", "1"));
}

TEST_CASE("a list of valid attachments has two names, and only one that can be read counts as a list") {
    const auto attachments = [](const std::string& members) {
        return conf_of(R"({"name": "n")" + members + "}", Strictness::lenient).valid_attachments;
    };
    CHECK_FALSE(attachments(""));
    CHECK(attachments(R"(, "cni.dev/valid-attachments": null)")->empty());
    CHECK(attachments(R"(, "cni.dev/attachments": [])")->empty());
    for (const std::string key : {"cni.dev/valid-attachments", "cni.dev/attachments"}) {
        const auto found = attachments(", \"" + key + R"(": [{"containerID": "c", "ifname": "net1"}])");
        REQUIRE(found);
        CHECK(found->at(0).container_id == "c");
        CHECK(found->at(0).ifname == "net1");
    }
    for (const std::string list : {"{}", R"(["c"])", R"([{"containerID": "c"}])", R"([{"ifname": "net1"}])"})
        CHECK_THROWS_AS(attachments(R"(, "cni.dev/valid-attachments": )" + list), json::ValueError);
}

TEST_CASE("errors have the configuration's version if it has one") {
    CHECK(cni::version_for_errors(R"({"cniVersion": "0.4.0"})") == "0.4.0");
    for (const char* text : {"", "{", "[]", "{}", R"({"cniVersion": 1})", R"({"cniVersion": "9.9.9"})"})
        CHECK(cni::version_for_errors(text) == "1.1.0");
}
