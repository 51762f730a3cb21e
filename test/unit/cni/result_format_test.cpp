// Golden documents: the Go library's output for the same result, in every version.
#include <rdmanet/cni/result.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet;
using cni::SpecVersion;

namespace {

base::IpPrefix prefix(const char* text) {
    return *base::IpPrefix::parse(text);
}

/// Interfaces of the host and of the pod, two IPv4 addresses and an IPv6 one, and routes of both families with every
/// field.
cni::Result full_result() {
    const auto gateway = base::IpAddress::parse("10.1.2.1");
    cni::Result result;
    result.interfaces = {{.name = "ens1f0"},
                         {.name = "net1",
                          .mac = "02:00:00:00:00:01",
                          .mtu = 9000,
                          .sandbox = "/run/netns/p",
                          .socket_path = "/run/s",
                          .pci_id = "0000:3b:00.2"}};
    result.ips = {{.address = prefix("10.1.2.2/24"), .gateway = gateway, .interface = 1},
                  {.address = prefix("10.1.2.3/24"), .interface = 1},
                  {.address = prefix("fd00::2/64")}};
    result.routes = {{.destination = prefix("10.9.0.0/16"),
                      .gateway = gateway,
                      .mtu = 1500,
                      .advmss = 1460,
                      .priority = 200,
                      .table = 100,
                      .scope = 0},
                     {.destination = prefix("fd01::/64")}};
    return result;
}

constexpr const char* kOldest =
    R"("ip4":{"ip":"10.1.2.2/24","gateway":"10.1.2.1","routes":[{"dst":"10.9.0.0/16","gw":"10.1.2.1"}]},)"
    R"("ip6":{"ip":"fd00::2/64","routes":[{"dst":"fd01::/64"}]},"dns":{}})";
constexpr const char* kMiddle =
    R"("interfaces":[{"name":"ens1f0"},{"name":"net1","mac":"02:00:00:00:00:01","sandbox":"/run/netns/p"}],)"
    R"("ips":[{"version":"4","interface":1,"address":"10.1.2.2/24","gateway":"10.1.2.1"},)"
    R"({"version":"4","interface":1,"address":"10.1.2.3/24"},{"version":"6","address":"fd00::2/64"}],)";
constexpr const char* kNewest =
    R"("interfaces":[{"name":"ens1f0"},{"name":"net1","mac":"02:00:00:00:00:01","mtu":9000,"sandbox":"/run/netns/p",)"
    R"("socketPath":"/run/s","pciID":"0000:3b:00.2"}],)"
    R"("ips":[{"interface":1,"address":"10.1.2.2/24","gateway":"10.1.2.1"},{"interface":1,"address":"10.1.2.3/24"},)"
    R"({"address":"fd00::2/64"}],)";
constexpr const char* kRoutes =
    R"("routes":[{"dst":"10.9.0.0/16","gw":"10.1.2.1","mtu":1500,"advmss":1460,"priority":200,"table":100,"scope":0},)"
    R"({"dst":"fd01::/64"}])";

/// The document behind its version, without the white space that json's tests hold against Go's.
std::string written(const cni::Result& result, SpecVersion version) {
    std::string text = cni::format_result(result, version);
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
    const std::string begin = R"({"cniVersion":")" + std::string(cni::to_string(version)) + '"';
    CHECK(text.starts_with(begin));
    return text.substr(begin.size());
}

} // namespace

TEST_CASE("results of every version match the Go library's") {
    for (const auto version : {SpecVersion::v0_1_0, SpecVersion::v0_2_0})
        CHECK(written(full_result(), version) == std::string(",") + kOldest);
    for (const auto version : {SpecVersion::v0_3_0, SpecVersion::v0_3_1, SpecVersion::v0_4_0})
        CHECK(written(full_result(), version) == std::string(",") + kMiddle + kRoutes + R"(,"dns":{}})");
    for (const auto version : {SpecVersion::v1_0_0, SpecVersion::v1_1_0})
        CHECK(written(full_result(), version) == std::string(",") + kNewest + kRoutes + "}");
    CHECK(cni::format_result({}, SpecVersion::v1_0_0) == "{\n    \"cniVersion\": \"1.0.0\"\n}\n");
    CHECK(cni::format_result({}, SpecVersion::v0_4_0) == "{\n    \"cniVersion\": \"0.4.0\",\n    \"dns\": {}\n}\n");
    cni::Result result;
    result.dns = {.nameservers = {"10.0.0.53"}, .domain = "d", .search = {"a", "b"}, .options = {"ndots:2"}};
    for (const std::string_view text : cni::kVersionTexts)
        CHECK(written(result, *cni::parse_version(text)) ==
              R"(,"dns":{"nameservers":["10.0.0.53"],"domain":"d","search":["a","b"],"options":["ndots:2"]}})");
}

TEST_CASE("the oldest versions omit routes of a family without an address, and cannot express a result without any") {
    cni::Result result = full_result();
    result.ips.pop_back();
    CHECK(cni::format_result(result, SpecVersion::v0_2_0).find("fd01::") == std::string::npos);
    CHECK_FALSE(cni::can_be_expressed(SpecVersion::v0_1_0, false));
    CHECK_FALSE(cni::can_be_expressed(SpecVersion::v0_2_0, false));
    CHECK(cni::can_be_expressed(SpecVersion::v0_2_0, true));
    CHECK(cni::can_be_expressed(SpecVersion::v0_3_0, false));
}
