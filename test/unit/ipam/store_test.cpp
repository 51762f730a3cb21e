#include "fixture.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

using namespace rdmanet;
using namespace rdmanet::ipam;
using namespace rdmanet::ipam::test;

TEST_CASE_METHOD(SoundStore, "nothing is created before the first reservation") {
    CHECK(release(owner("a")).empty());
    CHECK(store.find(owner("a").key, soon()).empty());
    CHECK(store.list_all(soon()).empty());
    CHECK(store.usage(claim("10.0.0.0/24"), soon()).leases == 0);
    CHECK_FALSE(store.repair(soon()));
    CHECK(std::filesystem::is_empty(directory.path()));

    CHECK(reserve(owner("a"), {claim("10.0.0.0/24")}) == "10.0.0.0/24");
    const auto mode = std::filesystem::status(store.path()).permissions();
    CHECK(mode == (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
}

TEST_CASE_METHOD(SoundStore, "the lowest free address is given, across holes and releases") {
    const Claim holed = claim("10.0.0.0/24", {{ip("10.0.0.1").value(), ip("10.0.0.2").value()},
                                              {ip("10.0.0.5").value(), ip("10.0.0.6").value()}});
    CHECK(reserve(owner("a"), {holed}) == "10.0.0.1/24");
    CHECK(reserve(owner("b"), {holed}) == "10.0.0.2/24");
    CHECK(reserve(owner("c"), {holed}) == "10.0.0.5/24");
    CHECK(reserve(owner("d"), {holed}) == "10.0.0.6/24");
    CHECK(reserve(owner("e"), {holed}) == "exhausted");
    CHECK(release(owner("b")) == "10.0.0.2/24");
    CHECK(reserve(owner("e"), {holed}) == "10.0.0.2/24");
}

TEST_CASE_METHOD(SoundStore, "a repeated reservation keeps the lease, whatever the claim is") {
    CHECK(reserve(owner("a"), {claim("10.0.0.0/24")}) == "10.0.0.0/24");
    CHECK(reserve(owner("a"), {claim("10.9.0.0/16")}) == "10.0.0.0/24");
    CHECK(reserve(owner("a"), {wanting(claim("10.0.0.0/24"), "10.0.0.7")}) == "10.0.0.0/24");
    CHECK(reserve(owner("a"), {claim("10.0.0.0/24"), claim("10.0.0.0/24")}) == "10.0.0.0/24 10.0.0.1/24");
    CHECK(reserve(owner("a", "", "net2"), {claim("10.0.0.0/24")}) == "10.0.0.2/24");
    CHECK(text_of(store.find(owner("a").key, soon())) == "10.0.0.0/24 10.0.0.1/24");
}

TEST_CASE_METHOD(SoundStore, "a lease gets the attachment's present namespace") {
    CHECK(reserve(owner("a"), {claim("10.0.0.0/24")}) == "10.0.0.0/24");
    Owner again = owner("a");
    again.netns_inode = 7;
    again.boot_id = "next";
    CHECK(reserve(again, {claim("10.0.0.0/24")}) == "10.0.0.0/24");
    const auto leases = store.find(again.key, soon());
    REQUIRE(leases.size() == 1);
    CHECK(leases[0].owner == again);
}

TEST_CASE_METHOD(SoundStore, "one transaction is enough for a new attachment of a new pod with free addresses") {
    const auto at_once = [&](const Owner& who, const std::vector<Claim>& claims) {
        const auto granted = store.reserve_at_once(who, claims, soon());
        return granted ? text_of(granted->leases) : "no";
    };
    Claim small = resting(claim("10.0.0.0/31"), 60);
    small.resting = ipam::Resting::left_alone;
    CHECK(at_once(owner("a", "web"), {small}) == "10.0.0.0/31");
    CHECK(text_of(store.find(owner("a").key, soon())) == "10.0.0.0/31");

    CHECK(at_once(owner("a", "web"), {small}) == "no");                     // holds a lease
    CHECK(at_once(owner("b", "web"), {small}) == "no");                     // the pod has a predecessor
    CHECK(at_once(owner("b"), {wanting(small, "10.0.0.0")}) == "no");       // taken
    CHECK(at_once(owner("b"), {claim("fd00::/64"), small, small}) == "no"); // one is missing
    CHECK(store.list_all(soon()).size() == 1);

    CHECK(at_once(owner("b"), {small}) == "10.0.0.1/31");
    CHECK(release(owner("b")) == "10.0.0.1/31");
    CHECK(at_once(owner("c"), {small}) == "no"); // only a resting address is left
    CHECK(reserve(owner("c"), {claim("10.0.0.0/31")}) == "10.0.0.1/31");
}

TEST_CASE_METHOD(SoundStore, "a requested address is set aside before the lowest ones are given") {
    CHECK(reserve(owner("a"), {claim("10.0.0.0/24"), wanting(claim("10.0.0.0/24"), "10.0.0.0")}) ==
          "10.0.0.1/24 10.0.0.0/24");
}

TEST_CASE_METHOD(SoundStore, "a released address rests until no other address is free") {
    const Claim two = resting(claim("10.0.0.0/31"), 30);
    CHECK(reserve(owner("a"), {two}) == "10.0.0.0/31");
    CHECK(release(owner("a")) == "10.0.0.0/31");
    now.boot += 1;
    CHECK(reserve(owner("b"), {two}) == "10.0.0.1/31");
    CHECK(store.usage(two, soon()).cooling == 1);
    CHECK(release(owner("b")) == "10.0.0.1/31");
    CHECK(reserve(owner("c"), {two}) == "10.0.0.0/31"); // it rests longer
    CHECK(reserve(owner("d"), {two}) == "10.0.0.1/31");
    CHECK(reserve(owner("e"), {two}) == "exhausted");
}

TEST_CASE_METHOD(SoundStore, "after its rest an address is its pod's until another pod gets it, or for a day") {
    const Claim many = resting(claim("10.0.0.0/24"), 30);
    CHECK(reserve(owner("a", "other"), {many}) == "10.0.0.0/24");
    CHECK(reserve(owner("b", "web"), {many}) == "10.0.0.1/24");
    CHECK(release(owner("b")) == "10.0.0.1/24");
    CHECK(release(owner("a")) == "10.0.0.0/24");
    now.boot += 30 + 86399;
    CHECK(reserve(owner("c", "web"), {claim("10.0.0.0/32")}) == "10.0.0.0/32"); // the range has changed
    CHECK(release(owner("c")) == "10.0.0.0/32");
    CHECK(reserve(owner("d", "web"), {many}) == "10.0.0.1/24");
    CHECK(release(owner("d")) == "10.0.0.1/24");
    now.boot += 30;
    CHECK(reserve(owner("e", "third"), {many}) == "10.0.0.0/24");
    CHECK(reserve(owner("f", "fourth"), {many}) == "10.0.0.1/24");
    CHECK(release(owner("f")) == "10.0.0.1/24");
    CHECK(reserve(owner("g", "web"), {many}) == "10.0.0.2/24");
    CHECK(release(owner("g")) == "10.0.0.2/24");
    now.boot += 30 + 86400;
    CHECK(reserve(owner("h", "web"), {many}) == "10.0.0.1/24");
}

TEST_CASE_METHOD(SoundStore, "what a pod got back is no resting address for others") {
    const Claim two = resting(claim("10.0.0.0/31"), 30);
    CHECK(reserve(owner("a", "web"), {two}) == "10.0.0.0/31");
    CHECK(release(owner("a")) == "10.0.0.0/31");
    CHECK(reserve(owner("b", "web"), {two}) == "10.0.0.0/31");
    CHECK(store.usage(two, soon()).cooling == 0);
    CHECK(reserve(owner("c"), {two}) == "10.0.0.1/31");
    CHECK(reserve(owner("d"), {two}) == "exhausted");
    CHECK_FALSE(store.has_free(two, soon()));
}

TEST_CASE_METHOD(SoundStore, "a rest that began in an earlier boot is over") {
    const Claim many = resting(claim("10.0.0.0/24"), 86400);
    now.boot = 10'000'000;
    CHECK(reserve(owner("a"), {many}) == "10.0.0.0/24");
    CHECK(release(owner("a")) == "10.0.0.0/24");
    now.boot = 5;
    CHECK(store.usage(many, soon()).cooling == 0);
    CHECK(reserve(owner("b"), {many}) == "10.0.0.0/24");
}

TEST_CASE_METHOD(SoundStore, "the first and last addresses of both families are given and released") {
    const base::Uint128 ones = ~base::Uint128{0};
    const Claim v6_end = claim("::/0", {{ones - 1, ones}});
    const Claim v4_end = claim("0.0.0.0/0", {{0xfffffffe, 0xffffffff}});
    const Claim v6_begin = claim("::/0", {{0, 1}});
    const Claim v4_begin = claim("0.0.0.0/0", {{0, 1}});
    const std::vector<Claim> all{v6_end, v4_end, v6_begin, v4_begin};
    CHECK(reserve(owner("a"), all) == "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/0 255.255.255.254/0 ::/0 0.0.0.0/0");
    CHECK(reserve(owner("b"), all) == "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/0 255.255.255.255/0 ::1/0 0.0.0.1/0");
    CHECK(reserve(owner("c"), {v6_end}) == "exhausted");
    CHECK(reserve(owner("c"), {v4_end}) == "exhausted");
    CHECK(reserve(owner("c"), {claim("::/0")}) == "::2/0");
    (void)release(owner("b"));
    CHECK(reserve(owner("d"), {v6_end, v4_end}) == "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/0 255.255.255.255/0");
}

TEST_CASE_METHOD(SoundStore, "leases keep everything about their owner") {
    const Owner who = owner("a", "uid");
    (void)reserve(who, {resting(claim("10.0.0.0/24"), 7)});
    const Lease expected{.space = "",
                         .slot = 0,
                         .address = prefix("10.0.0.0/24"),
                         .owner = who,
                         .since = now.epoch,
                         .cooldown = std::chrono::seconds(7)};
    CHECK(store.find(who.key, soon()) == std::vector{expected});
    CHECK(store.list_all(soon()) == std::vector{expected});
    CHECK(store.find_predecessors(who, soon()).empty());
    CHECK(store.find_predecessors(owner("b", "uid"), soon()) == std::vector{expected});
    CHECK(store.find_predecessors(owner("b", "uid", "net2"), soon()).empty());
    CHECK(store.find_predecessors(owner("b", "other"), soon()).empty());
    CHECK(store.find_predecessors(owner("b"), soon()).empty());
}

TEST_CASE_METHOD(SoundStore, "adopting and reclaiming depend on the holder") {
    const Claim any = claim("10.0.0.0/24");
    (void)reserve(owner("a", "uid"), {any, any});
    const auto seen = store.find(owner("a").key, soon());
    CHECK(text_of(store.adopt(seen, owner("b", "uid"), soon())) == "10.0.0.0/24 10.0.0.1/24");
    CHECK(store.adopt(seen, owner("c", "uid"), soon()).empty());
    CHECK(store.reclaim(seen, soon()).empty());
    CHECK(release(owner("a")).empty());
    CHECK(text_of(store.find(owner("b").key, soon())) == "10.0.0.0/24 10.0.0.1/24");

    (void)reserve(owner("d"), {any});
    CHECK(store.adopt(store.find(owner("b").key, soon()), owner("d"), soon()).size() == 1); // slot 0 is its own
    CHECK(text_of(store.find(owner("d").key, soon())) == "10.0.0.2/24 10.0.0.1/24");
    CHECK(text_of(store.reclaim(store.find(owner("b").key, soon()), soon())) == "10.0.0.0/24");
}

TEST_CASE_METHOD(SoundStore, "a lease that changed since it was read is neither adopted nor reclaimed") {
    const Claim any = claim("10.0.0.0/24");
    const Claim first = wanting(any, "10.0.0.0");
    (void)reserve(owner("a", "uid"), {any});
    const auto seen = store.find(owner("a").key, soon());

    // The same attachment has another slot: slot 0 is free for owner "b", slot 1 is not.
    (void)release(owner("a"));
    CHECK(reserve(owner("a", "uid"), {any, first}) == "10.0.0.1/24 10.0.0.0/24");
    CHECK(reserve(owner("b", "uid"), {any, any}) == "10.0.0.2/24 10.0.0.3/24");
    CHECK(text_of(store.reclaim({store.find(owner("b").key, soon()).front()}, soon())) == "10.0.0.2/24");
    CHECK(store.adopt(seen, owner("b", "uid"), soon()).empty());
    CHECK(store.reclaim(seen, soon()).empty());
    CHECK(text_of(store.find(owner("a").key, soon())) == "10.0.0.1/24 10.0.0.0/24");

    // The same attachment has another network namespace, so it lives again.
    const auto before = store.find(owner("a").key, soon());
    Owner again = owner("a", "uid");
    again.netns_cookie = 9;
    CHECK(reserve(again, {any, first}) == "10.0.0.1/24 10.0.0.0/24");
    CHECK(store.reclaim(before, soon()).empty());
    CHECK(store.adopt(before, owner("c", "uid"), soon()).empty());
    CHECK(text_of(store.find(again.key, soon())) == "10.0.0.1/24 10.0.0.0/24");
    CHECK(text_of(store.reclaim(store.find(again.key, soon()), soon())) == "10.0.0.1/24 10.0.0.0/24");
}

TEST_CASE_METHOD(SoundStore, "known leases are normal leases, and each address and slot has one") {
    (void)reserve(owner("a"), {claim("10.0.0.0/24")});
    auto lease = store.find(owner("a").key, soon()).front();
    std::vector<Lease> known{lease};
    lease.owner = owner("b"); // the address is held
    known.push_back(lease);
    lease.address = prefix("10.0.0.1/24");
    known.push_back(lease);
    lease.address = prefix("10.0.0.9/24"); // the slot is held
    known.push_back(lease);
    StoreFixture other;
    auto options = other.options();
    options.known_leases = [&] { return known; };
    LeaseFile anew(options);
    CHECK(text_of(anew.list_all(soon())) == "10.0.0.0/24 10.0.0.1/24");
    CHECK(text_of(anew.reserve(owner("c"), {claim("10.0.0.0/24")}, soon())) == "10.0.0.2/24");
}

TEST_CASE_METHOD(SoundStore, "a store that is created again begins with the known leases") {
    (void)reserve(owner("a"), {claim("10.0.0.0/24")});
    const auto known = store.list_all(soon());
    StoreFixture other;
    auto options = other.options();
    options.known_leases = [&] { return known; };
    LeaseFile looking(options); // a reader sees them before the file exists
    CHECK(looking.list_all(soon()).size() == 1);
    CHECK_FALSE(looking.has_free(claim("10.0.0.0/32"), soon()));
    CHECK_FALSE(std::filesystem::exists(looking.path()));
    CHECK(looking.release(owner("nobody").key, soon()).empty()); // nothing has changed
    CHECK_FALSE(std::filesystem::exists(looking.path()));
    CHECK(looking.release(owner("a").key, soon()).size() == 1); // as the reader has seen it
    CHECK(std::filesystem::exists(looking.path()));
    std::filesystem::remove(looking.path());
    LeaseFile seeded(options);
    CHECK(text_of(seeded.reserve(owner("b"), {claim("10.0.0.0/24")}, soon())) == "10.0.0.1/24");
    CHECK(seeded.list_all(soon()).size() == 2);
}

TEST_CASE_METHOD(SoundStore, "names may hold any bytes") {
    const std::string nasty("a\tb\nend\\5c\x7f\0\xc3\xa4", 14);
    Owner who = owner(nasty, nasty);
    Claim any = claim("10.0.0.0/24");
    any.space = nasty;
    CHECK(reserve(who, {any}) == "10.0.0.0/24");
    CHECK(store.list_all(soon()).front().owner == who);
    CHECK(release(who) == "10.0.0.0/24");
}
