// What only etcd can do wrong. What all stores have in common is in ../ipam/store_cases.cpp.
#include "etcd_case.hpp"

#include "support/process.hpp"

#include <rdmanet/ipam/allocator.hpp>

#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <filesystem>
#include <set>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;
using rdmanet::test::shell;

TEST_CASE_METHOD(EtcdCase, "keys say for a person who has which address", "[etcd]") {
    if (!is_there()) return;
    const auto store = connect();
    record("10.0.0.0/24");
    record("fd00::/64");
    CHECK(text_of(store->reserve(owner("c1", "p"),
                                 {wanting("10.0.0.0/24", "10.0.0.5"), wanting("fd00::/64", "fd00::5")}, soon())) ==
          "10.0.0.5/24 fd00::5/64");
    CHECK(claimed == std::vector<std::string>{"10.0.0.5/24", "fd00::5/64"});
    const auto entries = entries_below(prefix);
    std::vector<std::string> keys;
    for (const auto& entry : entries) keys.push_back(entry.key);
    const std::string node = "/@nodes/0123456789abcdef0123456789abcdef";
    CHECK(keys == std::vector<std::string>{"/-/a/010.000.000.005", "/-/a/[fd00:0000:0000:0000:0000:0000:0000:0005]",
                                           "/-/o/net/c1/net1/0", "/-/o/net/c1/net1/1", "/-/r/010.000.000.000-24",
                                           "/-/r/[fd00:0000:0000:0000:0000:0000:0000:0000]-64", node,
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

TEST_CASE_METHOD(EtcdCase, "an attachment whose record is lost is found in a space that its network names no more",
                 "[etcd]") {
    if (!is_there()) return;
    const auto store = connect();
    ipam::Claim before = claim("10.0.0.0/24");
    before.space = "before/edit";
    const std::string address = text_of(store->reserve(owner("a", "p"), {before}, soon()));
    const std::string beside = text_of(store->reserve(owner("b", "p"), {before}, soon()));
    EtcdOptions options = etcd_options(prefix);
    CHECK(make_etcd_store(connect_to(servers_of("one")), options)->release(owner("a", "p").key, soon()).empty());
    options.are_spaces_guessed = true;
    const auto guessing = make_etcd_store(connect_to(servers_of("one")), options);
    CHECK(text_of(guessing->find(owner("a", "p").key, soon())) == address);
    CHECK(text_of(guessing->release(owner("a", "p").key, soon())) == address);
    CHECK(guessing->release(owner("a", "p", "net2").key, soon()).empty());
    CHECK(keys_below(prefix).size() == 3);
    CHECK(text_of(guessing->release(owner("b", "p").key, soon())) == beside);
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
