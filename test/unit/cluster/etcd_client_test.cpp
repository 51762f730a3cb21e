// What stands before etcd, and sends requests away.
#include "etcd_fixture.hpp"

#include "unit/http/scripted_server.hpp"

#include <rdmanet/etcd/transaction.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <string>

using namespace rdmanet;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;

TEST_CASE("a balancer before etcd that is busy is asked again when it says, and a change was not made", "[etcd]") {
    std::atomic<int> requests{0};
    http::test::ScriptedServer busy([&](http::test::Connection& connection) {
        while (!connection.read_request().empty())
            connection.send(++requests == 1 ? "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 4\r\n\r\nslow"
                            : requests == 2 ? "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"
                                            : "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n"
                                              R"({"header":{},"succeeded":true})");
    });
    etcd::Client client = connect_to({.endpoints = {busy.url()}});
    const auto begun = std::chrono::steady_clock::now();
    CHECK(client.run(etcd::Transaction().if_absent("/k").put("/k", "v"), base::Deadline::in(60s)).succeeded);
    CHECK(std::chrono::steady_clock::now() - begun >= 1s);
    CHECK(requests == 3);
}

TEST_CASE("a balancer that stays busy is asked a few times, and the text says so", "[etcd]") {
    std::atomic<int> requests{0};
    http::test::ScriptedServer busy([&](http::test::Connection& connection) {
        while (!connection.read_request().empty()) {
            ++requests;
            connection.send("HTTP/1.1 429 Too Many Requests\r\nContent-Length: 4\r\n\r\nslow");
        }
    });
    etcd::Client client = connect_to({.endpoints = {busy.url()}});
    try {
        (void)client.run(etcd::Transaction().if_absent("/k").put("/k", "v"), base::Deadline::in(60s));
        FAIL("an answer came");
    } catch (const etcd::Failure& failure) {
        CHECK(failure.kind() == etcd::Failure::Kind::temporary);
        CHECK_FALSE(failure.unreachable());
        CHECK_THAT(failure.what(), Contains(busy.url() + ": HTTP 429: \"slow\"; tried for "));
    }
    CHECK(requests == 4);
}
