// What becomes of a request that a server did not begin, and what is shown of its words.
#include "unit/http/scripted_server.hpp"

#include <rdmanet/kube/api.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <string>
#include <variant>

using namespace rdmanet;
using namespace rdmanet::kube;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using http::test::Connection;
using http::test::ScriptedServer;

namespace {

constexpr const char* kNoRole =
    R"({"message": "pods is forbidden: User \"node\" cannot list resource \"pods\" in API group \"\" at the cluster )"
    R"(scope: RBAC: clusterrole.rbac.authorization.k8s.io \"rdmanet\" not found", "code": 403})";
constexpr const char* kNoRight = R"({"message": "pods \"RBAC\" is forbidden: not found", "code": 403})";
constexpr int kMostTries = 4;

base::Deadline soon() {
    return base::Deadline::in(60s);
}

Api api_of(const std::string& url) {
    return Api({.server = http::Url::parse(url), .tls = {.verify = http::Verify::nobody}},
               {.connect = 60s, .request = 60s});
}

/// "created", or why not, of a POST.
std::string create(const std::string& url) {
    Api api = api_of(url);
    try {
        const Outcome outcome = api.create("/pods", "{}", soon());
        const auto* refused = std::get_if<Refused>(&outcome);
        return refused == nullptr ? "created" : refused->message;
    } catch (const http::TransportError& error) {
        return error.what();
    }
}

} // namespace

TEST_CASE("what a server that has just started does not know yet, or did not get whole, is asked again") {
    struct Row {
        const char* status;
        const char* body;
        int refusals, requests;
        const char* said;
    };
    const auto [status, body, refusals, requests, said] =
        GENERATE(Row{"403 Forbidden", kNoRole, 1, 2, "created"},
                 Row{"403 Forbidden", kNoRole, 9, kMostTries, "clusterrole.rbac.authorization.k8s.io \"rdmanet\" not"},
                 Row{"403 Forbidden", kNoRight, 9, 1, "HTTP 403: pods"},
                 Row{"408 Request Timeout", "", 1, 2, "created"}, Row{"404 Not Found", kNoRole, 9, 1, "HTTP 404"});
    INFO(status << ": " << body);
    std::atomic<int> seen{0};
    ScriptedServer server([&, status = status, body = body, refusals = refusals](Connection& connection) {
        while (!connection.read_request().empty())
            if (++seen <= refusals)
                connection.answer(body, status);
            else
                connection.answer("{}");
    });
    CHECK_THAT(create(server.url()), Contains(said));
    CHECK(seen == requests);
}

TEST_CASE("a connection that is reset before an answer is made again for a request that changes nothing") {
    std::atomic<int> seen{0};
    ScriptedServer server([&](Connection& connection) {
        while (!connection.read_request().empty()) {
            if (++seen % 2 != 0) return connection.reset();
            connection.answer("{}");
        }
    });
    {
        Api api = api_of(server.url());
        CHECK(std::holds_alternative<Object>(api.get("/pods", soon())));
    }
    CHECK(seen == 2);
    CHECK_THAT(create(server.url()), Contains("connection reset"));
    CHECK(seen == 3);
}

TEST_CASE("a connection that ends before anything of the request was sent is made again for any request") {
    ScriptedServer server([](Connection&) {}); // who connects is to say something of TLS first
    std::string url = server.url();
    url.insert(url.find(':'), "s");
    CHECK_THAT(create(url), Contains("TLS: "));
    CHECK(server.connections() == kMostTries);
}

TEST_CASE("of a server's text a message has a kilobyte") {
    const std::string many = GENERATE(std::string(100'000, 'x'), std::string(300'000, '\\'));
    const bool is_json = GENERATE(true, false);
    const std::string status = GENERATE("403 Forbidden", "200 OK");
    ScriptedServer server([&](Connection& connection) {
        const std::string body = is_json ? "{\"message\": \"" + many + "\"}" : "\"" + many;
        while (!connection.read_request().empty()) connection.answer(status == "200 OK" ? "\"" + many : body, status);
    });
    const std::string said = create(server.url());
    CHECK_THAT(said, Contains(server.url()) && Contains(status.substr(0, 3)));
    CHECK(said.size() < 1400);
}
