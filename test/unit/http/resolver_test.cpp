#include "resolver.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace rdmanet;

TEST_CASE("names are looked up in /etc/hosts as hosts(5) says") {
    const std::string_view hosts = "127.0.0.1 localhost\n# 10.0.0.9 api\n10.0.0.1\tapi.example  API # comment api2\r\n"
                                   "nonsense api\n\nfd00::1 api\n10.0.0.2 last";
    const auto found = [&](std::string_view name) {
        std::string text;
        for (const base::IpAddress& address : http::find_in_hosts(hosts, name))
            text += (text.empty() ? "" : " ") + address.to_string();
        return text;
    };
    CHECK(found("localhost") == "127.0.0.1");
    CHECK(found("api.example") == "10.0.0.1");
    CHECK(found("api") == "10.0.0.1 fd00::1");
    CHECK(found("api2").empty());
    CHECK(found("comment").empty());
    CHECK(found("last") == "10.0.0.2");
    CHECK(found("").empty());
}
