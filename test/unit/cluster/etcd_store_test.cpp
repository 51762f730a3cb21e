// What only etcd can do wrong. What all stores have in common is in ../ipam/store_cases.cpp.
#include "etcd_case.hpp"

#include "support/patience.hpp"
#include "support/process.hpp"

#include <rdmanet/ipam/allocator.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <thread>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;
using rdmanet::test::shell;

TEST_CASE_METHOD(EtcdCase, "keys say for a person who has which address", "[etcd]") {
    if (!is_there()) return;
    const auto store = connect();
    CHECK(text_of(store->reserve(owner("c1", "p"),
                                 {wanting("10.0.0.0/24", "10.0.0.5"), wanting("fd00::/64", "fd00::5")}, soon())) ==
          "10.0.0.5/24 fd00::5/64");
    CHECK(claimed == std::vector<std::string>{"10.0.0.5/24", "fd00::5/64"});
    const auto entries = entries_below(prefix);
    std::vector<std::string> keys;
    for (const auto& entry : entries) keys.push_back(entry.key);
    const std::string node = "/@nodes/0123456789abcdef0123456789abcdef";
    CHECK(keys == std::vector<std::string>{"/-/a/010.000.000.005", "/-/a/[fd00:0000:0000:0000:0000:0000:0000:0005]",
                                           "/-/o/net/c1/net1/0", "/-/o/net/c1/net1/1", node,
                                           node + "/default/p/net/net1/c1/-/0", node + "/default/p/net/net1/c1/-/1"});
    CHECK_THAT(entries[0].value, Contains(R"("address":"10.0.0.5/24")") && Contains(R"("container":"c1")") &&
                                     Contains(R"("pod":{"namespace":"default","name":"p","uid":"uid-of-p"})") &&
                                     Contains(R"("node":{"name":"n1","machineID":"0123456789abcdef0123456789abcdef")"
                                              R"(,"bootID":"boot"})"));
    CHECK(entries[0].value == entries[2].value);
    CHECK(text_of(store->release(owner("c1", "p").key, soon())) == "10.0.0.5/24 fd00::5/64");
    CHECK(keys_below(prefix).empty());
}

TEST_CASE_METHOD(EtcdCase, "names may hold any text, and spaces have nothing to do with each other", "[etcd]") {
    if (!is_there()) return;
    const std::string nasty = "a/../b%2F '\"\\ \xc3\xa4\n-";
    auto options = etcd_options(prefix);
    options.spaces = {"", "-", nasty, "@10.0.0.0/24"};
    const auto store = make_etcd_store(connect_to(servers_of("one")), options);
    ipam::Owner who = owner(nasty, nasty, nasty);
    who.key.network = nasty;
    std::vector<ipam::Claim> claims(options.spaces.size(), wanting("10.0.0.0/24", "10.0.0.7"));
    for (std::size_t at = 0; at < claims.size(); ++at) claims[at].space = options.spaces[at];
    CHECK(text_of(store->reserve(who, claims, soon())) == "10.0.0.7/24 10.0.0.7/24 10.0.0.7/24 10.0.0.7/24");
    const auto leases = store->find(who.key, soon());
    REQUIRE(leases.size() == 4);
    CHECK(leases[2].space == nasty);
    CHECK(leases[2].owner == who);
    CHECK(store->release(who.key, soon()).size() == 4);
    CHECK(keys_below(prefix).empty());
}

TEST_CASE_METHOD(EtcdCase, "an ADD is one request, and a DEL two", "[etcd]") {
    if (!is_there()) return;
    std::atomic<int> requests{0};
    const auto etcd = behind([&](const std::string&) {
        ++requests;
        return Fate::answered;
    });
    ipam::Config config;
    config.ranges.push_back(
        {.range = {prefix_of("10.0.0.0/16"), ipam::bounds_of(prefix_of("10.0.0.0/16"), ipam::Edges::kept_free)},
         .space = ""});
    config.ranges.push_back(
        {.range = {prefix_of("fd00::/64"), ipam::bounds_of(prefix_of("fd00::/64"), ipam::Edges::kept_free)},
         .space = ""});
    class : public ipam::LivenessProbe {
        ipam::Verdict probe(const ipam::Owner&) override { return {.liveness = ipam::Liveness::alive}; }
    } everybody_lives;
    const auto directory = std::filesystem::temp_directory_path() / ("etcd-memory-" + std::to_string(::getpid()));
    memory = directory.string();
    const auto add = [&](const std::string& container) {
        const auto store = connect({.endpoints = {etcd->endpoint()}}); // a process of its own
        return ipam::Allocator(*store, everybody_lives)
            .allocate(config, owner(container, container), {}, soon())
            .leases.size();
    };
    CHECK(add("first") == 2);
    requests = 0;
    CHECK(add("second") == 2);
    CHECK(requests == 1);
    CHECK(connect({.endpoints = {etcd->endpoint()}})->release(owner("second", "second").key, soon()).size() == 2);
    CHECK(requests == 3);

    struct stat status {};
    REQUIRE(::stat(memory.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    std::filesystem::remove(directory);
    CHECK(add("third") == 2);
    shell("echo '{\"token\":3' > " + memory);
    CHECK(add("fourth") == 2);
    std::filesystem::remove(directory);
}

TEST_CASE_METHOD(EtcdCase, "one free address is found in a full range in a few requests", "[etcd]") {
    if (!is_there()) return;
    etcd::Client client = connect_to(servers_of("one"));
    for (unsigned block = 0; block < 64; ++block) {
        etcd::Transaction fill;
        for (unsigned last = 0; last < 64; ++last) {
            const unsigned number = block * 64 + last;
            char key[64];
            std::snprintf(key, sizeof key, "/-/a/010.000.%03u.%03u", number / 256, number % 256);
            if (number != 3333) fill.put(prefix + key, "somebody's");
        }
        (void)client.run(fill, soon());
    }
    std::atomic<int> requests{0};
    const auto etcd = behind([&](const std::string&) {
        ++requests;
        return Fate::answered;
    });
    const auto store = connect({.endpoints = {etcd->endpoint()}});
    CHECK(store->usage(claim("10.0.0.0/20"), soon()).leases == 4093);
    CHECK(store->has_free(claim("10.0.0.0/20"), soon()));
    requests = 0;
    CHECK(text_of(store->reserve(owner("a", "p"), {claim("10.0.0.0/20")}, soon())) == "10.0.13.5/20");
    CHECK(requests < 10);
    CHECK(text_of(store->reserve(owner("b", "q"), {claim("10.0.0.0/20")}, soon())) == "exhausted");
    CHECK_FALSE(store->has_free(claim("10.0.0.0/20"), soon()));
    CHECK(text_of(store->reserve(owner("b", "q"), {wanting("10.0.0.0/20", "10.0.1.1")}, soon())) == "taken by ");
}

TEST_CASE_METHOD(EtcdCase, "several addresses of one range are different ones, to its last", "[etcd]") {
    if (!is_there()) return;
    const auto store = connect();
    const std::vector<ipam::Claim> five(5, claim("10.0.0.0/29"));
    const auto outcome = store->reserve(owner("a", "p"), five, soon());
    REQUIRE(std::holds_alternative<ipam::Granted>(outcome));
    std::set<std::string> given;
    for (const auto& lease : std::get<ipam::Granted>(outcome).leases) given.insert(lease.address.to_string());
    CHECK(given.size() == 5);
    CHECK(text_of(store->reserve(owner("b", "q"), {claim("10.0.0.0/29"), claim("10.0.0.0/29")}, soon())) ==
          "exhausted");
    CHECK(store->find(owner("b", "q").key, soon()).empty());
    CHECK(text_of(store->reserve(owner("a", "p"), std::vector<ipam::Claim>(6, claim("10.0.0.0/29")), soon()))
              .find("exhausted") == std::string::npos); // the sixth beside those that it has
    CHECK(store->release(owner("a", "p").key, soon()).size() == 6);
    CHECK_THAT(why_not(*store, owner("a", "p"), std::vector<ipam::Claim>(33, claim("10.0.0.0/24"))),
               Contains("permanent") && Contains("32") && Contains("33"));
    CHECK(keys_below(prefix).empty());
}

TEST_CASE_METHOD(EtcdCase, "a repeated reservation says where its owner is now", "[etcd]") {
    if (!is_there()) return;
    const auto store = connect();
    const std::string address = text_of(store->reserve(owner("a", "p"), {claim("10.0.0.0/24")}, soon()));
    ipam::Owner again = owner("a", "p");
    again.netns_inode = 7;
    again.pod_uid = "other";
    CHECK(text_of(store->reserve(again, {claim("10.9.0.0/16")}, soon())) == address);
    const auto leases = store->find(again.key, soon());
    REQUIRE(leases.size() == 1);
    CHECK(leases[0].owner == again);
    CHECK(text_of(store->release(again.key, soon())) == address);
    CHECK(keys_below(prefix).empty());
}

TEST_CASE_METHOD(EtcdCase, "keys that somebody removed by hand are no obstacle", "[etcd]") {
    if (!is_there()) return;
    const auto store = connect();
    CHECK(text_of(store->reserve(owner("a", "p"), {wanting("10.0.0.0/24", "10.0.0.5")}, soon())) == "10.0.0.5/24");
    SECTION("the address: a repeated ADD gets one again, a DEL leaves nothing") {
        remove_key(prefix + "/-/a/010.000.000.005");
        SECTION("ADD") {
            CHECK(text_of(store->reserve(owner("a", "p"), {wanting("10.0.0.0/24", "10.0.0.5")}, soon())) ==
                  "10.0.0.5/24");
            CHECK(keys_below(prefix).size() == 3);
        }
        SECTION("another ADD takes the address meanwhile") {
            CHECK(text_of(store->reserve(owner("b", "q"), {wanting("10.0.0.0/24", "10.0.0.5")}, soon())) ==
                  "10.0.0.5/24");
            CHECK(text_of(store->release(owner("a", "p").key, soon())) != "");
            CHECK(text_of(store->find(owner("b", "q").key, soon())) == "10.0.0.5/24");
            CHECK(keys_below(prefix).size() == 3);
            (void)store->release(owner("b", "q").key, soon());
        }
    }
    SECTION("the node") {
        remove_key(prefix + "/@nodes/0123456789abcdef0123456789abcdef");
    }
    SECTION("the pod") {
        remove_key(prefix + "/@nodes/0123456789abcdef0123456789abcdef/default/p/net/net1/a/-/0");
    }
    CHECK(text_of(store->reserve(owner("c", "r"), {wanting("10.0.0.0/24", "10.0.0.6")}, soon())) == "10.0.0.6/24");
    (void)store->release(owner("c", "r").key, soon());
    (void)store->release(owner("a", "p").key, soon());
    CHECK(keys_below(prefix).empty());
}

TEST_CASE_METHOD(EtcdCase, "a claim whose answer is lost is found again", "[etcd]") {
    if (!is_there()) return;
    std::atomic<int> claims{0};
    const auto etcd = behind(
        [&](const std::string& text) { return is_claim(text) && claims++ == 0 ? Fate::answer_lost : Fate::answered; });
    const auto store = connect({.endpoints = {etcd->endpoint()}});
    const auto outcome = store->reserve(owner("a", "p"), {claim("10.0.0.0/24"), claim("fd00::/64")}, soon());
    REQUIRE(std::holds_alternative<ipam::Granted>(outcome));
    CHECK(claims == 2);
    CHECK(std::get<ipam::Granted>(outcome).fresh.size() == 2);
    CHECK(text_of(store->find(owner("a", "p").key, soon())) == text_of(outcome));
    CHECK(keys_below(prefix).size() == 6);
    CHECK(store->release(owner("a", "p").key, soon()).size() == 2);
    CHECK(keys_below(prefix).empty());
}

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

TEST_CASE_METHOD(EtcdCase, "a release whose answer is lost has been done", "[etcd]") {
    if (!is_there()) return;
    std::atomic<int> removals{0};
    const auto etcd = behind([&](const std::string& text) {
        return text.find("request_delete_range") != std::string::npos && removals++ == 0 ? Fate::answer_lost
                                                                                         : Fate::answered;
    });
    const auto store = connect({.endpoints = {etcd->endpoint()}});
    (void)store->reserve(owner("a", "p"), {claim("10.0.0.0/24")}, soon());
    (void)store->release(owner("a", "p").key, soon());
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

TEST_CASE_METHOD(
    EtcdCase,
    "work goes on while a member of three is killed, stopped and started, and after two of three were stopped",
    "[etcd]") {
    if (!is_there()) return;
    const std::string directory = *etcd_directory() + "/three";
    const http::Limits impatient{.connect = 2s, .request = 3s};
    std::atomic<bool> is_over{false};
    std::atomic<int> done{0};
    std::vector<std::string> failures;
    std::set<std::string> in_use;
    std::mutex mutex;
    const auto begin_to_use = [&](const std::string& address) {
        const std::scoped_lock lock(mutex);
        if (!in_use.insert(address).second) failures.push_back(address + " was given twice");
    };
    const auto end_to_use = [&](const std::string& address) {
        const std::scoped_lock lock(mutex);
        in_use.erase(address);
    };
    std::vector<std::thread> nodes;
    for (int node = 0; node < 3; ++node)
        nodes.emplace_back([&, node] {
            EtcdOptions options = etcd_options(prefix);
            options.machine_id = std::string(32, static_cast<char>('a' + node));
            options.node_name = "n" + std::to_string(node);
            const auto store = make_etcd_store(connect_to(servers_of("three"), etcd::Memory(), impatient), options);
            for (int round = 0; !is_over; ++round) {
                const std::string name = std::to_string(node) + "-" + std::to_string(round);
                for (bool is_done = false; !is_done;) try {
                        // A small range, so that nodes meet.
                        const std::string address =
                            text_of(store->reserve(owner(name, name), {claim("10.0.0.0/29")}, soon()));
                        begin_to_use(address);
                        end_to_use(address); // whatever becomes of the release
                        while (!store->find(owner(name, name).key, soon()).empty())
                            (void)store->release(owner(name, name).key, soon());
                        is_done = true;
                        ++done;
                    } catch (const ipam::StoreError& error) {
                        const std::scoped_lock lock(mutex);
                        if (!error.temporary()) failures.emplace_back(error.what());
                        is_done = !error.temporary();
                    }
            }
        });
    const auto wait_for_work = [&] {
        const int before = done;
        return rdmanet::test::comes_true([&] { return done > before + 5; });
    };
    const auto pid = [&](int number) {
        return std::stoi(shell("cat " + directory + "/" + std::to_string(number) + ".pid"));
    };
    CHECK(wait_for_work());
    for (const int member : {1, 2, 3}) {
        ::kill(pid(member), SIGKILL);
        CHECK(wait_for_work());
        shell(*etcd_directory() + "/member " + directory + " " + std::to_string(member) + " start");
        ::kill(pid(member), SIGSTOP);
        CHECK(wait_for_work());
        ::kill(pid(member), SIGCONT);
        CHECK(wait_for_work());
    }
    const auto without = make_etcd_store(connect_to(servers_of("three"), etcd::Memory(), impatient), [&] {
        EtcdOptions options = etcd_options(prefix);
        options.machine_id = std::string(32, 'f');
        return options;
    }());
    for (const int member : {1, 2}) ::kill(pid(member), SIGSTOP);
    CHECK(rdmanet::test::comes_true([&] { // as soon as both have stopped
        try {
            (void)without->reserve(owner("w", "w"), {claim("10.0.0.0/29")}, base::Deadline::in(4s));
            return false;
        } catch (const ipam::StoreError& error) {
            return error.temporary();
        }
    }));
    for (const int member : {1, 2}) ::kill(pid(member), SIGCONT);
    CHECK(wait_for_work());
    is_over = true;
    for (std::thread& node : nodes) node.join();
    CHECK(rdmanet::test::comes_true([&] {
        try {
            (void)without->release(owner("w", "w").key, soon());
            return true;
        } catch (const ipam::StoreError&) {
            return false;
        }
    }));
    CHECK(failures == std::vector<std::string>{});
    const auto store = make_etcd_store(connect_to(servers_of("three")), etcd_options(prefix));
    CHECK(store->list_all(soon()).empty());
}

TEST_CASE_METHOD(EtcdCase, "a password, a right or a certificate that is wrong is named, and no secret is said",
                 "[etcd]") {
    if (!is_there()) return;
    const std::string directory = *etcd_directory() + "/secure/";
    etcd::Servers servers = servers_of("secure");
    const auto refused = [&](const auto& matcher) {
        const std::string why = why_not(servers);
        CHECK_THAT(why, matcher);
        CHECK(why.find("secret") == std::string::npos);
    };
    SECTION("another user's password") {
        servers.password_file = directory + "reader.password";
        refused(Contains("permanent") && Contains("invalid user ID or password") && Contains("user \"rdmanet\"") &&
                Contains("etcd.passwordFile"));
    }
    SECTION("a user without the right to write") {
        servers.username = "reader";
        servers.password_file = directory + "reader.password";
        refused(Contains("permanent") && Contains("permission denied") && Contains("user \"reader\"") &&
                Contains("grant-permission"));
    }
    SECTION("a user without any right") {
        servers.username = "stranger";
        servers.password_file = directory + "stranger.password";
        refused(Contains("permanent") && Contains("permission denied") && Contains("user \"stranger\""));
    }
    SECTION("no user") {
        servers.username.clear();
        servers.password_file.clear();
        refused(Contains("permanent") && Contains("set etcd.username"));
    }
    SECTION("no file with the password") {
        servers.password_file = directory + "absent";
        refused(Contains("etcd.passwordFile") && Contains("absent"));
    }
    SECTION("users where etcd has none") {
        servers.endpoints = endpoints_of("one");
        refused(Contains("permanent") && Contains("authentication is not enabled") && Contains("etcdctl auth enable"));
    }
    SECTION("another authority") {
        servers.ca = directory + "other-ca.crt";
        refused(Contains("TLS") && Contains("certificate"));
    }
    SECTION("no client certificate") {
        servers.certificate.clear();
        servers.key.clear();
        refused(Contains("TLS"));
    }
    SECTION("a client certificate with a name") {
        servers.certificate = directory + "named.crt";
        servers.key = directory + "named.key";
        refused(Contains("permanent") && Contains("without a CommonName") && Contains("etcd.cert"));
    }
    SECTION("a key that is another's") {
        servers.key = directory + "named.key";
        refused(Contains("permanent") && Contains("client key"));
    }
}

TEST_CASE_METHOD(EtcdCase, "a login is kept for the next process, and renewed when etcd has forgotten it", "[etcd]") {
    if (!is_there()) return;
    memory = (std::filesystem::temp_directory_path() / ("etcd-token-" + std::to_string(::getpid()))).string();
    std::filesystem::remove(memory);
    const auto take = [&](const std::string& name) {
        return text_of(connect(servers_of("secure"))->reserve(owner(name, name), {claim("10.0.0.0/24")}, soon()));
    };
    const auto token = [&] { return etcd::Memory(memory).token; };
    CHECK(take("a").starts_with("10.0.0."));
    const std::string first = token();
    CHECK(first != "");
    CHECK(take("b").starts_with("10.0.0."));
    CHECK(token() == first);
    etcd::Memory forged(memory);
    forged.token = "forgotten.1";
    forged.save();
    CHECK(take("c").starts_with("10.0.0."));
    CHECK(token() != "forgotten.1");
    std::filesystem::remove(memory);
}

TEST_CASE_METHOD(EtcdCase, "a token that etcd no longer takes is renewed, and a changed password is read", "[etcd]") {
    if (!is_there()) return;
    const std::string directory = *etcd_directory() + "/secure/";
    const std::string curl = "curl --silent --fail --cacert " + directory + "ca.crt --cert " + directory +
                             "client.crt --key " + directory + "client.key " + endpoints_of("secure").front();
    const auto as_root = [&](const std::string& path, const std::string& body) {
        shell("token=$(" + curl + R"(/v3/auth/authenticate -d '{"name":"root","password":"secret of root"}' | )" +
              "jq --raw-output .token); " + curl + "/v3/auth/" + path + " -H \"Authorization: $token\" -d '" + body +
              "'");
    };
    etcd::Servers servers = servers_of("secure");
    const auto store = connect(servers);
    CHECK(text_of(store->reserve(owner("a", "p"), {claim("10.0.0.0/24")}, soon())).starts_with("10.0.0."));
    as_root("user/add", R"({"name":"other-)" + std::to_string(::getpid()) + R"(","password":"x"})");
    CHECK(text_of(store->reserve(owner("b", "q"), {claim("10.0.0.0/24")}, soon())).starts_with("10.0.0."));
    as_root("user/changepw", R"({"name":"rdmanet","password":"another one"})");
    CHECK_THAT(why_not(*store, owner("c", "r"), {claim("10.0.0.0/24")}),
               Contains("permanent") && Contains("etcd.passwordFile") && !Contains("secret"));
    const std::string file =
        (std::filesystem::temp_directory_path() / ("password-" + std::to_string(::getpid()))).string();
    shell("echo 'another one' >" + file);
    servers.password_file = file;
    CHECK(text_of(connect(servers)->reserve(owner("c", "r"), {claim("10.0.0.0/24")}, soon())).starts_with("10.0.0."));
    as_root("user/changepw", R"({"name":"rdmanet","password":"secret of rdmanet"})");
    std::filesystem::remove(file);
    for (const char* name : {"a", "b", "c"})
        CHECK(connect(servers_of("secure"))->release(owner(name, "p").key, soon()).size() == 1);
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
