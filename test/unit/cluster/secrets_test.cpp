// Servers that repeat what they were sent, as some proxies do.
#include "etcd_fixture.hpp"
#include "unit/http/scripted_server.hpp"

#include <rdmanet/etcd/transaction.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/kube/api.hpp>

#include <catch2/catch.hpp>

#include <string>
#include <variant>

using namespace rdmanet;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;
using http::test::Connection;
using http::test::ScriptedServer;

namespace {

constexpr const char* kToken = R"(Bearer s3cret.of."many\bytes")";

std::string answer(const std::string& status, const std::string& body) {
    return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string in_json(const std::string& text) {
    return json::Writer().value(text).to_text();
}

/// What is said of a request to an API server that gives this answer.
std::string said_of(ScriptedServer& server) {
    kube::Api api({.server = http::Url::parse(server.url()), .authorization = kToken},
                  {.connect = 60s, .request = 60s});
    try {
        const auto outcome = api.get("/version", base::Deadline::in(60s));
        return std::get<kube::Refused>(outcome).message;
    } catch (const http::TransportError& error) {
        return error.what();
    }
}

} // namespace

TEST_CASE("an API server that repeats the request does not make the token known") {
    const std::string status = GENERATE("401 No", "403 Forbidden", "500 Trouble", "200 OK");
    const bool is_status = GENERATE(true, false);
    INFO(status << (is_status ? " with a Status" : " with the request itself"));
    ScriptedServer echo([&](Connection& connection) {
        for (std::string request; !(request = connection.read_request()).empty();)
            connection.send(answer(status, is_status && status != "200 OK"
                                               ? "{\"message\":" + in_json(request) + "}"
                                               : in_json(request).substr(0, request.size())));
    });
    CHECK_THAT(said_of(echo), Contains(echo.url()) && Contains("Bearer ...") && !Contains("s3cret"));
}

TEST_CASE("a token at the end of what is quoted of an answer is not known in part") {
    const std::size_t before = GENERATE(range(std::size_t(170), std::size_t(202), std::size_t(5)));
    ScriptedServer echo([&](Connection& connection) {
        while (!connection.read_request().empty())
            connection.send(answer("403 Forbidden", std::string(before, 'x') + kToken));
    });
    CHECK_THAT(said_of(echo), Contains("xxx") && !Contains("s3c"));
}

TEST_CASE("an etcd that repeats the request does not make the password or the token known") {
    const bool lets_in = GENERATE(false, true);
    const std::string status = GENERATE("400 Bad Request", "429 Busy", "200 OK");
    const std::string password = GENERATE("h1dden", R"(h1d"d\en)", R"(h1d\\"")", "h1d<&>d");
    INFO((lets_in ? "after the login, " : "at the login, ") << status);
    ScriptedServer echo([&](Connection& connection) {
        for (std::string request; !(request = connection.read_request()).empty();) {
            const bool is_login = request.find("/authenticate") != std::string::npos;
            connection.send(is_login && lets_in ? answer("200 OK", R"({"token":"t0ken"})")
                                                : answer(status, "{\"error\":" + in_json(request) + ",\"code\":3}" +
                                                                     (status == "200 OK" ? request : "")));
        }
    });
    etcd::Access access{.endpoints = {http::Url::parse(echo.url())}, .username = "u", .password = password};
    etcd::Client client(std::move(access), etcd::Memory(), {.connect = 60s, .request = 60s});
    std::string said;
    try {
        (void)client.run(etcd::Transaction().if_absent("/k").put("/k", "v"), base::Deadline::in(2s));
    } catch (const etcd::Failure& failure) {
        said = failure.what();
    }
    CHECK_THAT(said, Contains(echo.url()) && !Contains("h1d") && !Contains("t0ken"));
}
