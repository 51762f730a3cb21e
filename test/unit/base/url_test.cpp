#include <rdmanet/base/url.hpp>

#include <catch2/catch.hpp>

using rdmanet::base::Url;
using rdmanet::base::UrlError;

TEST_CASE("a server is a scheme, a host, a port, and perhaps a path before every path") {
    const auto parts = [](std::string_view text) {
        const Url url = Url::parse(text);
        return url.to_string() + url.base;
    };
    CHECK(parts("https://10.96.0.1:6443") == "https://10.96.0.1:6443");
    CHECK(parts("https://api.example") == "https://api.example:443");
    CHECK(parts("http://127.0.0.1/") == "http://127.0.0.1:80");
    CHECK(parts("https://[fd00::1]:6443") == "https://[fd00::1]:6443");
    CHECK(parts("https://[fd00::1]") == "https://[fd00::1]:443");
    CHECK(parts("https://rancher.example/k8s/clusters/c-1/") == "https://rancher.example:443/k8s/clusters/c-1");
    CHECK(Url::parse("https://[fd00::1]").host == "fd00::1");
}

TEST_CASE("the user and password of a server are not repeated") {
    const std::string why = "\": expected no user, query, fragment or space in it";
    CHECK_THROWS_WITH(Url::parse("https://user:secret@host"), "server \"https://...@host" + why);
    CHECK_THROWS_WITH(Url::parse("https://user:sec/r@t@host"), "server \"https://...@host" + why);
    CHECK_THROWS_WITH(Url::parse("user:secret@host"),
                      "server \"...@host\": expected https://HOST:PORT or http://HOST:PORT");
    CHECK_THROWS_WITH(Url::parse("https://host/?token=secret"), "server \"https://host/..." + why);
    CHECK_THROWS_WITH(Url::parse("https://host/#secret"), "server \"https://host/..." + why);
    CHECK_THROWS_WITH(Url::parse("https://user:s#cr?t@host?x=y"), "server \"https://...@host..." + why);
}

TEST_CASE("what is no server is refused with its text") {
    for (const char* text : {"", "10.0.0.1", "ftp://host", "https://", "https://host:0", "https://host:65536",
                             "https://host:x", "https://user:secret@host", "https://host?x", "https://host#x",
                             "https://ho st", "https://host\r\nX: y", "https://[fd00::1", "https://[fd00::1]6443"}) {
        INFO(text);
        CHECK_THROWS_AS(Url::parse(text), UrlError);
    }
    CHECK_THROWS_WITH(Url::parse("ftp://host"),
                      "server \"ftp://host\": expected https://HOST:PORT or http://HOST:PORT");
}
