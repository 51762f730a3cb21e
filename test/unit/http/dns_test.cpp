#include "dns.hpp"
#include "name_server.hpp"
#include "socket.hpp"

#include <net/if.h>

#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <vector>

using namespace rdmanet;
using namespace rdmanet::http;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using rdmanet::http::test::NameQuestion;
using rdmanet::http::test::NameReply;
using FakeServer = rdmanet::http::test::NameServer;

namespace {

const NameReply kSilent{.is_silent = true};

ResolverConfiguration servers(const std::vector<const FakeServer*>& all) {
    ResolverConfiguration configuration;
    for (const FakeServer* server : all)
        configuration.servers.push_back({.address = *base::IpAddress::parse("127.0.0.1"), .port = server->port()});
    return configuration;
}

/// The addresses, or why there are none. On a machine with too much to do, none of the servers may seem to be silent.
std::string look_up(const ResolverConfiguration& configuration, const std::string& host = "api.example",
                    std::chrono::milliseconds patience = 60s) try {
    std::string text;
    for (const base::IpAddress& address : ask_name_servers(host, configuration, base::Deadline::in(patience)))
        text += (text.empty() ? "" : " ") + address.to_string();
    return text;
} catch (const Failure& failure) {
    CHECK(failure.stage == Stage::dns);
    return failure.why;
}

NameReply only_v4(const NameQuestion& question) {
    return question.is_v6 ? kSilent : NameReply{.addresses = {"127.0.0.1", "127.0.0.2"}};
}

} // namespace

TEST_CASE("resolv.conf names servers, domains to search, and how many dots a whole name has") {
    const auto text = [](std::string_view configuration) {
        const ResolverConfiguration parsed = parse_resolver_configuration(configuration);
        std::string all;
        for (const auto& server : parsed.servers) all += server.address.to_string() + ' ';
        for (const auto& domain : parsed.search) all += domain + ' ';
        return all + std::to_string(parsed.dots) + (parsed.is_tcp_only ? " by TCP" : "") +
               (parsed.timeout == 5s ? "" : ' ' + std::to_string(parsed.timeout.count()) + " s");
    };
    CHECK(text("") == "127.0.0.1 1");
    CHECK(text("nameserver 10.0.0.1\n# nameserver 10.0.0.9\nnameserver\tfd00::1 ; second\nnameserver nonsense\n"
               "domain old\nsearch a.example b.example .\r\noptions edns0 ndots:5 timeout:1") ==
          "10.0.0.1 fd00::1 a.example b.example 5 1 s");
    CHECK(text("options ndots:99 ndots:x use-vc timeout:99 timeout:x\nsearch") == "127.0.0.1 15 by TCP 30 s");
    const auto scopes = parse_resolver_configuration("nameserver fe80::1%lo\nnameserver fe80::2%7\nnameserver fe80::3");
    REQUIRE(scopes.servers.size() == 3);
    CHECK(scopes.servers[0].scope == ::if_nametoindex("lo"));
    CHECK(scopes.servers[1].scope == 7);
    CHECK(scopes.servers[2].scope == 0);
}

TEST_CASE("a server that refuses one family at once is still heard about the other") {
    const bool refuses_v6 = GENERATE(true, false);
    const FakeServer server([&](const NameQuestion& question) {
        if (question.is_v6 == refuses_v6) return NameReply{.code = NameReply::kServerFailure};
        return NameReply{.addresses = {question.is_v6 ? "::1" : "127.0.0.1"}};
    });
    CHECK(look_up(servers({&server})) == (refuses_v6 ? "127.0.0.1" : "::1"));
    CHECK(look_up(servers({&server, &server})) == (refuses_v6 ? "127.0.0.1" : "::1"));
}

TEST_CASE("IPv4 addresses are enough, but those without a route wait for the others, which are tried first") {
    const FakeServer silent_v6(only_v4);
    const base::Deadline end = base::Deadline::in(60s);
    CHECK(look_up(servers({&silent_v6})) == "127.0.0.1 127.0.0.2");
    CHECK_FALSE(end.passed());
    const FakeServer server([](const NameQuestion& question) {
        return NameReply{.addresses = {question.is_v6 ? "::1" : "255.255.255.255"}}; // broadcasts are not permitted
    });
    CHECK(look_up(servers({&server})) == "::1 255.255.255.255");
}

TEST_CASE("a name that has IPv6 addresses only is found, also where nobody says that it has no others") {
    const bool is_silent = GENERATE(false, true);
    const FakeServer server([&](const NameQuestion& question) {
        if (question.is_v6) return NameReply{.addresses = {"fd00::1"}};
        return is_silent ? kSilent : NameReply{};
    });
    CHECK(look_up(servers({&server}), "api.example", is_silent ? 4s : 60s) == "fd00::1");
}

TEST_CASE("a name server that is silent, gone or of no use costs little, and the next one is asked") {
    const FakeServer good(only_v4);
    const FakeServer silent([](const NameQuestion&) { return kSilent; });
    const FakeServer failing([](const NameQuestion&) { return NameReply{.code = NameReply::kServerFailure}; });
    const FakeServer foreign(
        [](const NameQuestion&) { return NameReply{.addresses = {"192.0.2.1"}, .is_somebody_elses = true}; });
    ResolverConfiguration configuration = servers({&silent, &failing, &foreign, &good});
    {
        const FakeServer gone([](const NameQuestion&) { return kSilent; });
        configuration.servers.insert(configuration.servers.begin(),
                                     {.address = *base::IpAddress::parse("127.0.0.1"), .port = gone.port()});
    }
    const base::Deadline end = base::Deadline::in(60s);
    CHECK(look_up(configuration) == "127.0.0.1 127.0.0.2");
    CHECK_FALSE(end.passed());
}

TEST_CASE("where resolv.conf says so, only TCP is used, and the next server follows one that does not answer") {
    const FakeServer good([](const NameQuestion&) { return NameReply{.addresses = {"127.0.0.1"}}; }, SOCK_STREAM);
    const FakeServer datagrams(only_v4);
    const FakeServer failing([](const NameQuestion&) { return NameReply{.code = NameReply::kServerFailure}; },
                             SOCK_STREAM);
    const auto by_tcp = [](ResolverConfiguration configuration) {
        configuration.is_tcp_only = true;
        return look_up(configuration);
    };
    CHECK(by_tcp(servers({&datagrams, &failing, &good})) == "127.0.0.1");
    CHECK(by_tcp(servers({&datagrams})) == "looking up \"api.example\": no name server answered");
    CHECK(by_tcp(servers({&failing})) == "looking up \"api.example\": every name server refuses to answer");
}

TEST_CASE("the time for all questions is one, whatever the number of servers and domains") {
    const FakeServer one([](const NameQuestion&) { return kSilent; });
    const FakeServer other([](const NameQuestion&) { return kSilent; });
    ResolverConfiguration configuration = servers({&one, &other, &one});
    configuration.search = {"a", "b", "c"};
    const auto begun = base::Deadline::Clock::now();
    CHECK(look_up(configuration, "api", 1s) == "looking up \"api\": no name server answered");
    CHECK(base::Deadline::Clock::now() - begun < 20s);
}

TEST_CASE("why there is no address is said") {
    const FakeServer empty([](const NameQuestion&) { return NameReply{}; });
    const FakeServer unknown([](const NameQuestion&) { return NameReply{.code = NameReply::kUnknownName}; });
    const FakeServer failing([](const NameQuestion&) { return NameReply{.code = NameReply::kServerFailure}; });
    const std::string what = "looking up \"api.example\": ";
    CHECK(look_up(servers({&empty})) == what + "the name has no address");
    CHECK(look_up(servers({&unknown})) == what + "the name is unknown");
    CHECK(look_up(servers({&failing, &failing})) == what + "every name server refuses to answer");
    CHECK_THAT(look_up(servers({&unknown}), "a..b"), Contains("the name is unknown"));
    CHECK_THAT(look_up(servers({&unknown}), std::string(64, 'a')), Contains("the name is unknown"));
    CHECK_THAT(look_up(servers({&unknown}), "a." + std::string(400, 'a')), Contains("the name is unknown"));
}

TEST_CASE("a name with few dots is looked for in the domains first") {
    std::vector<std::string> asked;
    const FakeServer server([&](const NameQuestion& question) {
        if (!question.is_v6) asked.push_back(question.name);
        if (question.name == "api.first") return NameReply{.code = NameReply::kServerFailure};
        if (question.name != "api.second" && question.name != "x.api")
            return NameReply{.code = NameReply::kUnknownName};
        return question.is_v6 ? NameReply{} : NameReply{.addresses = {"127.0.0.1"}};
    });
    ResolverConfiguration configuration = servers({&server});
    configuration.search = {"first", "second"};
    CHECK(look_up(configuration, "api") == "127.0.0.1");
    CHECK(asked == std::vector<std::string>{"api.first", "api.second"});
    asked.clear();
    CHECK(look_up(configuration, "x.api") == "127.0.0.1");
    CHECK(look_up(configuration, "x.api.") == "127.0.0.1");
    CHECK(asked == std::vector<std::string>{"x.api", "x.api"});
}

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
