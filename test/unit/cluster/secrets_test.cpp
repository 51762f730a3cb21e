// Servers that repeat what they were sent, as some proxies do.
#include "unit/http/scripted_server.hpp"

#include <rdmanet/json/writer.hpp>
#include <rdmanet/kube/api.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <variant>

using namespace rdmanet;
using namespace std::chrono_literals;
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
