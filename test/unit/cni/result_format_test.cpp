// Golden documents: the Go library's output for the same result, in every version.
#include <rdmanet/cni/result.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet;
using cni::SpecVersion;

namespace {

base::IpPrefix prefix(const char* text) {
    return *base::IpPrefix::parse(text);
}
base::IpAddress address(const char* text) {
    return *base::IpAddress::parse(text);
}

/// Interfaces of the host and of the pod, two IPv4 addresses and an IPv6 one, and routes of both families with every
/// field.
cni::Result full_result() {
    cni::Result result;
    result.interfaces = {{.name = "ens1f0", .mac = "", .mtu = {}, .sandbox = "", .socket_path = "", .pci_id = ""},
                         {.name = "net1",
                          .mac = "02:00:00:00:00:01",
                          .mtu = 9000,
                          .sandbox = "/run/netns/p",
                          .socket_path = "/run/s",
                          .pci_id = "0000:3b:00.2"}};
    result.ips = {{.address = prefix("10.1.2.2/24"), .gateway = address("10.1.2.1"), .interface = 1},
                  {.address = prefix("10.1.2.3/24"), .gateway = {}, .interface = 1},
                  {.address = prefix("fd00::2/64"), .gateway = {}, .interface = {}}};
    result.routes = {{.destination = prefix("10.9.0.0/16"),
                      .gateway = address("10.1.2.1"),
                      .mtu = 1500,
                      .advmss = 1460,
                      .priority = 200,
                      .table = 100,
                      .scope = 0},
                     {.destination = prefix("fd01::/64"),
                      .gateway = {},
                      .mtu = {},
                      .advmss = {},
                      .priority = {},
                      .table = {},
                      .scope = {}}};
    return result;
}

constexpr const char* kOldest = R"(    "ip4": {
        "ip": "10.1.2.2/24",
        "gateway": "10.1.2.1",
        "routes": [
            {
                "dst": "10.9.0.0/16",
                "gw": "10.1.2.1"
            }
        ]
    },
    "ip6": {
        "ip": "fd00::2/64",
        "routes": [
            {
                "dst": "fd01::/64"
            }
        ]
    },
    "dns": {}
}
)";

constexpr const char* kRoutes = R"(    "routes": [
        {
            "dst": "10.9.0.0/16",
            "gw": "10.1.2.1",
            "mtu": 1500,
            "advmss": 1460,
            "priority": 200,
            "table": 100,
            "scope": 0
        },
        {
            "dst": "fd01::/64"
        }
    ])";

constexpr const char* kMiddle = R"(    "interfaces": [
        {
            "name": "ens1f0"
        },
        {
            "name": "net1",
            "mac": "02:00:00:00:00:01",
            "sandbox": "/run/netns/p"
        }
    ],
    "ips": [
        {
            "version": "4",
            "interface": 1,
            "address": "10.1.2.2/24",
            "gateway": "10.1.2.1"
        },
        {
            "version": "4",
            "interface": 1,
            "address": "10.1.2.3/24"
        },
        {
            "version": "6",
            "address": "fd00::2/64"
        }
    ],
)";

constexpr const char* kNewest = R"(    "interfaces": [
        {
            "name": "ens1f0"
        },
        {
            "name": "net1",
            "mac": "02:00:00:00:00:01",
            "mtu": 9000,
            "sandbox": "/run/netns/p",
            "socketPath": "/run/s",
            "pciID": "0000:3b:00.2"
        }
    ],
    "ips": [
        {
            "interface": 1,
            "address": "10.1.2.2/24",
            "gateway": "10.1.2.1"
        },
        {
            "interface": 1,
            "address": "10.1.2.3/24"
        },
        {
            "address": "fd00::2/64"
        }
    ],
)";

std::string with_version(SpecVersion version, const std::string& rest) {
    return "{\n    \"cniVersion\": \"" + std::string(cni::to_string(version)) + "\",\n" + rest;
}

} // namespace

TEST_CASE("results of 0.1.0 and 0.2.0 match the Go library's") {
    for (const auto version : {SpecVersion::v0_1_0, SpecVersion::v0_2_0})
        CHECK(cni::format_result(full_result(), version) == with_version(version, kOldest));
}

TEST_CASE("results of 0.3.0, 0.3.1 and 0.4.0 match the Go library's") {
    for (const auto version : {SpecVersion::v0_3_0, SpecVersion::v0_3_1, SpecVersion::v0_4_0})
        CHECK(cni::format_result(full_result(), version) ==
              with_version(version, std::string(kMiddle) + kRoutes + ",\n    \"dns\": {}\n}\n"));
}

TEST_CASE("results of 1.0.0 and 1.1.0 match the Go library's") {
    for (const auto version : {SpecVersion::v1_0_0, SpecVersion::v1_1_0})
        CHECK(cni::format_result(full_result(), version) ==
              with_version(version, std::string(kNewest) + kRoutes + "\n}\n"));
}

TEST_CASE("an empty result matches the Go library's") {
    CHECK(cni::format_result({}, SpecVersion::v1_0_0) == "{\n    \"cniVersion\": \"1.0.0\"\n}\n");
    CHECK(cni::format_result({}, SpecVersion::v0_4_0) == "{\n    \"cniVersion\": \"0.4.0\",\n    \"dns\": {}\n}\n");
}

TEST_CASE("DNS settings are in every version") {
    cni::Result result;
    result.dns = {.nameservers = {"10.0.0.53"}, .domain = "d", .search = {"a", "b"}, .options = {"ndots:2"}};
    for (const std::string_view text : cni::kVersionTexts)
        CHECK(cni::format_result(result, *cni::parse_version(text)).ends_with(R"(    "dns": {
        "nameservers": [
            "10.0.0.53"
        ],
        "domain": "d",
        "search": [
            "a",
            "b"
        ],
        "options": [
            "ndots:2"
        ]
    }
}
)"));
}

TEST_CASE("the oldest versions omit routes of a family without an address") {
    cni::Result result = full_result();
    result.ips.pop_back();
    CHECK(cni::format_result(result, SpecVersion::v0_2_0).find("fd01::") == std::string::npos);
}

TEST_CASE("the oldest versions cannot express a result without an address") {
    CHECK_FALSE(cni::can_be_expressed(SpecVersion::v0_1_0, false));
    CHECK_FALSE(cni::can_be_expressed(SpecVersion::v0_2_0, false));
    CHECK(cni::can_be_expressed(SpecVersion::v0_2_0, true));
    CHECK(cni::can_be_expressed(SpecVersion::v0_3_0, false));
}
