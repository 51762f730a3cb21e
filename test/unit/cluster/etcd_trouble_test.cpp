// Answers of etcd that are lost, come late or are cut; members that are away; an etcd without space.
#include "etcd_case.hpp"

#include "support/patience.hpp"
#include "support/process.hpp"

#include <rdmanet/ipam/errors.hpp>

#include <catch2/catch.hpp>

#include <signal.h>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;
using rdmanet::test::shell;

TEST_CASE_METHOD(EtcdCase, "a claim that reaches etcd too late has no effect", "[etcd]") {
    if (!is_there()) return;
    std::atomic<int> claims{0};
    std::atomic<bool> is_to_be_killed{false}; // with its first claim
    const auto etcd = behind([&](const std::string& text) {
        if (is_claim(text) && claims++ == 0) return Fate::kept_back;
        return claims > 0 && is_to_be_killed ? Fate::dropped : Fate::answered;
    });
    const auto store = connect({.endpoints = {etcd->endpoint()}});
    SECTION("after the ADD, which asked again, and its DEL") {
        CHECK(text_of(store->reserve(owner("a", "p"), {claim("10.0.0.0/24")}, soon())).starts_with("10.0.0."));
        CHECK(store->release(owner("a", "p").key, soon()).size() == 1);
    }
    SECTION("after the DEL of an ADD that was killed, which found nothing") {
        is_to_be_killed = true;
        CHECK_THROWS_AS(store->reserve(owner("a", "p"), {claim("10.0.0.0/24")}, base::Deadline::in(1s)), base::Error);
        CHECK(connect()->release(owner("a", "p").key, soon()).empty());
    }
    SECTION("after the DEL of an attachment that had an address when a later ADD of it was killed") {
        CHECK(text_of(connect()->reserve(owner("a", "p"), {claim("10.0.0.0/24")}, soon())).starts_with("10.0.0."));
        is_to_be_killed = true;
        CHECK_THROWS_AS(store->reserve_at_once(owner("a", "p"), {claim("10.0.0.0/24")}, base::Deadline::in(1s)),
                        base::Error);
        CHECK(connect(servers_of("one"), true)->release(owner("a", "p").key, soon()).size() == 1);
    }
    CHECK_THAT(etcd->deliver_late(), Contains("200 OK") && !Contains("succeeded"));
    CHECK(keys_below(prefix).empty());
}

TEST_CASE_METHOD(EtcdCase, "a connection that is cut at any byte of a claim or its answer costs nobody an address",
                 "[etcd]") {
    if (!is_there()) return;
    const Fate fate = GENERATE(Fate::answer_cut, Fate::request_cut);
    std::atomic<int> claims{0};
    std::atomic<std::size_t> length{0};
    const auto etcd = behind([&](const std::string& text) {
        if (!is_claim(text) || claims++ > 0) return Fate::answered;
        length = fate == Fate::request_cut ? text.size() : 600; // more than an answer has
        return fate;
    });
    const auto store = connect({.endpoints = {etcd->endpoint()}});
    int number = 0;
    for (std::size_t byte = 0; byte <= length || number == 0; byte += fate == Fate::request_cut ? 29 : 7) {
        etcd->cut_after = byte;
        claims = 0;
        const std::string name = std::to_string(++number);
        const std::string address = text_of(store->reserve(owner(name, name), {claim("10.0.0.0/24")}, soon()));
        INFO(byte);
        CHECK(text_of(store->find(owner(name, name).key, soon())) == address);
        CHECK(keys_below(prefix).size() == 3);
        CHECK(text_of(store->release(owner(name, name).key, soon())) == address);
        CHECK(keys_below(prefix).empty());
    }
    CHECK(number > 20);
}

TEST_CASE_METHOD(EtcdCase, "a connection that is cut at any byte of a removal or its answer leaves nothing", "[etcd]") {
    if (!is_there()) return;
    const Fate fate = GENERATE(Fate::answer_cut, Fate::request_cut);
    std::atomic<int> removals{0};
    std::atomic<std::size_t> length{0};
    const auto etcd = behind([&](const std::string& text) {
        if (text.find("request_delete_range") == std::string::npos || removals++ > 0) return Fate::answered;
        length = fate == Fate::request_cut ? text.size() : 400; // more than an answer has
        return fate;
    });
    const auto store = connect({.endpoints = {etcd->endpoint()}});
    const auto beside = connect();
    CHECK(text_of(beside->reserve(owner("beside", "q"), {wanting("10.0.0.0/24", "10.0.0.9")}, soon())) ==
          "10.0.0.9/24");
    int number = 0;
    for (std::size_t byte = 0; byte <= length || number == 0; byte += fate == Fate::request_cut ? 61 : 23) {
        INFO(byte);
        etcd->cut_after = byte;
        removals = 0;
        CHECK(text_of(store->reserve(owner("a", "p"), {wanting("10.0.0.0/24", "10.0.0.5")}, soon())) == "10.0.0.5/24");
        CHECK(text_of(store->release(owner("a", "p").key, soon())) == "10.0.0.5/24");
        CHECK(keys_below(prefix).size() == 3); // of the pod beside it
        ++number;
    }
    CHECK(number > 10);
}

TEST_CASE_METHOD(EtcdCase, "an etcd that is killed, or stopped for longer than a request may take, keeps what it gave",
                 "[etcd]") {
    if (!is_there()) return;
    const std::string directory = *etcd_directory() + "/one";
    const pid_t pid = std::stoi(shell("cat " + directory + "/1.pid"));
    const auto store = make_etcd_store(connect_to(servers_of("one"), etcd::Memory(), {.connect = 1s, .request = 1s}),
                                       etcd_options(prefix));
    const std::string address = text_of(store->reserve(owner("a", "p"), {claim("10.0.0.0/24")}, soon()));
    ::kill(pid, SIGSTOP);
    rdmanet::test::wait_until("test \"$(cut -d' ' -f3 /proc/" + std::to_string(pid) + "/task/*/stat | sort -u)\" = T");
    CHECK_THAT(why_not(*store, owner("b", "q"), {claim("10.0.0.0/24")}),
               Contains("temporary") && Contains("no answer") && Contains(endpoints_of("one").front()));
    CHECK_THROWS_AS(store->release(owner("a", "p").key, soon()), ipam::StoreError);
    ::kill(pid, SIGCONT);
    CHECK(rdmanet::test::comes_true([&] { return !keys_below(prefix).empty(); }));
    ::kill(pid, SIGKILL);
    CHECK_THAT(why_not(*store, owner("b", "q"), {claim("10.0.0.0/24")}), Contains("temporary") && Contains("TCP"));
    shell(*etcd_directory() + "/member " + directory + " 1 start");
    CHECK(text_of(store->find(owner("a", "p").key, soon())) == address);
    CHECK(text_of(store->release(owner("a", "p").key, soon())) == address);
    // What "b" sent while the server was stopped may have been done since; its DEL ends that.
    (void)store->release(owner("b", "q").key, soon());
    CHECK(keys_below(prefix).empty());
}

TEST_CASE_METHOD(EtcdCase, "a member that is away is left out, and named if no other is there", "[etcd]") {
    if (!is_there()) return;
    const std::string nobody = "http://127.0.0.1:1";
    const auto store = connect({.endpoints = {nobody, endpoints_of("one").front()}});
    CHECK(text_of(store->reserve(owner("a", "p"), {wanting("10.0.0.0/24", "10.0.0.5")}, soon())) == "10.0.0.5/24");
    CHECK_THAT(why_not({.endpoints = {nobody, "http://127.0.0.1:2"}}),
               Contains("temporary") && Contains(nobody + ": TCP: connecting: connection refused, after") &&
                   Contains("http://127.0.0.1:2: TCP") && Contains("tried for") && Contains("in all"));
    CHECK_THAT(why_not({.endpoints = {"http://nobody.invalid:2379"}}), Contains("temporary") && Contains("DNS"));
    const http::test::ScriptedServer web([](http::test::Connection& connection) {
        while (!connection.read_request().empty())
            connection.send("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nwhat");
    });
    CHECK_THAT(why_not({.endpoints = {web.url()}}),
               Contains("permanent") && Contains("404") && Contains("etcd.endpoints"));
    const http::test::ScriptedServer liar([](http::test::Connection& connection) {
        while (!connection.read_request().empty()) connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    });
    CHECK_THAT(why_not({.endpoints = {liar.url()}}), Contains("temporary") && Contains("not etcd's"));
}

TEST_CASE_METHOD(EtcdCase, "an etcd without space says so, and still takes addresses back", "[etcd]") {
    if (!is_there()) return;
    const std::string directory = *etcd_directory() + "/one";
    const auto start_again = [&](const std::string& settings) {
        ::kill(std::stoi(shell("cat " + directory + "/1.pid")), SIGKILL);
        shell(settings + *etcd_directory() + "/member " + directory + " 1 start");
    };
    const auto store = connect();
    (void)store->reserve(owner("a", "p"), {claim("10.0.0.0/24")}, soon());
    start_again("ETCD_QUOTA_BACKEND_BYTES=1 "); // it has more than that
    const std::string why = why_not(*store, owner("b", "q"), {claim("10.0.0.0/24")});
    CHECK_THAT(why, Contains("temporary") && Contains("database space exceeded") && Contains("etcdctl alarm disarm"));
    CHECK(store->release(owner("a", "p").key, soon()).size() == 1);
    start_again("");
    const std::string alarm = "curl --silent --fail " + endpoints_of("one").front() + "/v3/maintenance/alarm -d ";
    shell(alarm + R"('{"action":"GET"}' | jq --compact-output '.alarms[] | .action="DEACTIVATE"' | )" +
          "while read -r one; do " + alarm + "\"$one\"; done");
    CHECK(keys_below(prefix).empty());
    CHECK(text_of(store->reserve(owner("b", "q"), {claim("10.0.0.0/24")}, soon())).starts_with("10.0.0."));
}
