#include "support/names.hpp"

#include <rdmanet/cni/result.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet;
using cni::SpecVersion;
using rdmanet::test::Names;

namespace {

cni::Result result_of(const std::string& text, SpecVersion fallback = SpecVersion::v1_1_0) {
    return cni::parse_result(json::Document::parse(text).root(), fallback);
}

} // namespace

TEST_CASE("a result of 1.1.0 with every field is parsed") {
    const std::string text = R"({"cniVersion": "1.1.0",
        "interfaces": [{"name": "net1", "mac": "02:00:00:00:00:01", "mtu": 9000, "sandbox": "/run/netns/p",
                        "socketPath": "/run/s", "pciID": "0000:3b:00.2"}],
        "ips": [{"interface": 0, "address": "10.1.2.2/24", "gateway": "10.1.2.1"}],
        "routes": [{"dst": "0.0.0.0/0", "gw": "10.1.2.1", "mtu": 1, "advmss": 2, "priority": 3, "table": 4, "scope": 253}],
        "dns": {"nameservers": ["10.0.0.53"], "domain": "d", "search": ["s"], "options": ["o"]}})";
    const std::string formatted = cni::format_result(result_of(text), SpecVersion::v1_1_0);
    CHECK(json::Document::parse(formatted).root().to_text() == json::Document::parse(text).root().to_text());
}

TEST_CASE("every version's document is parsed as far as that version can express it") {
    const auto result = result_of(R"({"interfaces": [{"name": "a"}, {"name": "b"}],
        "ips": [{"address": "10.0.0.1/8", "interface": 1}, {"address": "fd00::1/64", "gateway": "fd00::2"}],
        "routes": [{"dst": "10.9.0.0/16"}, {"dst": "::/0", "gw": "fd00::3"}]})");
    for (const std::string_view text : cni::kVersionTexts) {
        const SpecVersion version = *cni::parse_version(text);
        const auto read = result_of(cni::format_result(result, version));
        CHECK(read.ips.size() == 2);
        CHECK(read.routes.size() == 2);
        CHECK(read.routes.at(1).gateway->to_string() == "fd00::3");
        CHECK(read.interfaces.size() == (version > SpecVersion::v0_2_0 ? 2U : 0U));
        CHECK(cni::format_result(read, version) == cni::format_result(result, version));
    }
}

TEST_CASE("a result without a version has the configuration's") {
    const std::string text = R"({"ip4": {"ip": "10.0.0.1/24"}, "ips": [{"address": "10.0.0.2/24"}]})";
    CHECK(result_of(text, SpecVersion::v0_2_0).ips.at(0).address.to_string() == "10.0.0.1/24");
    CHECK(result_of(text, SpecVersion::v1_0_0).ips.at(0).address.to_string() == "10.0.0.2/24");
    CHECK(result_of(R"({"cniVersion": "0.1.0", "ip6": {"ip": "fd00::1/64"}})", SpecVersion::v1_0_0).ips.size() == 1);
    CHECK_THROWS_AS(result_of(R"({"cniVersion": "2.0.0"})"), json::ValueError);
}

TEST_CASE("an empty result is valid, and an empty gateway means none") {
    for (const char* text : {"{}", R"({"ips": null, "interfaces": [], "dns": {}})", R"({"cniVersion": "0.2.0"})"}) {
        const auto result = result_of(text);
        CHECK(result.ips.empty());
        CHECK(result.dns.empty());
    }
    CHECK_FALSE(result_of(R"({"ips": [{"address": "10.0.0.1/24", "gateway": ""}]})").ips.at(0).gateway);
    CHECK_FALSE(result_of(R"({"routes": [{"dst": "10.0.0.0/8", "gw": ""}]})").routes.at(0).gateway);
}

TEST_CASE("the error for a damaged result names the key") {
    CHECK_THROWS_WITH(result_of(R"({"ips": [{"address": "10.0.0.1"}]})"),
                      Names("ips[0].address", "prefix length", "10.0.0.1"));
    CHECK_THROWS_WITH(result_of(R"({"routes": [{"gw": "10.0.0.1"}]})"), Names("routes[0]", "missing", "dst"));
    CHECK_THROWS_WITH(result_of(R"({"ips": [{"address": "10.0.0.1/8", "interface": -1}]})"),
                      Names("ips[0].interface", "4294967295", "-1"));
    CHECK_THROWS_WITH(result_of(R"({"routes": [{"dst": "10.0.0.0/8", "scope": 256}]})"),
                      Names("routes[0].scope", "255", "256"));
    CHECK_THROWS_WITH(result_of("[]"), Names("object", "array"));
}
