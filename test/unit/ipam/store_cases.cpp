// What every store guarantees. Each case runs on each store of the test program (store_under_test.hpp).
#include "store_under_test.hpp"

#include <rdmanet/ipam/allocator.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/json/reader.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

namespace rdmanet::ipam::cases {
namespace {

using test::StoreKindUnderTest;
using test::StoreUnderTest;

base::Deadline soon() {
    return base::Deadline::in(std::chrono::seconds(120));
}

base::IpAddress ip(std::string_view text) {
    return base::IpAddress::parse(text).value();
}

Owner owner(const std::string& container, const std::string& pod, const std::string& ifname = "net1") {
    return {.key = {.network = "net", .container_id = container, .ifname = ifname},
            .pod_namespace = "default",
            .pod_name = pod,
            .pod_uid = "uid-of-" + pod,
            .netns_path = "/run/netns/" + container,
            .netns_cookie = 4,
            .netns_inode = 0xffff'ffff'0000'0001U,
            .pid_view = 4026531836U,
            .boot_id = "boot"};
}

std::string text_of(const std::vector<Lease>& leases) {
    std::string text;
    for (const Lease& lease : leases) text += (text.empty() ? "" : " ") + lease.address.to_string();
    return text;
}
std::string text_of(const ReserveOutcome& outcome) {
    if (const auto* granted = std::get_if<Granted>(&outcome)) return text_of(granted->leases);
    if (const auto* taken = std::get_if<Taken>(&outcome)) return "taken by " + taken->holder.owner.pod_name;
    return "exhausted";
}

/// A store, and short ways to ask it.
struct Subject {
    Subject(const StoreKindUnderTest& kind, std::vector<std::string> ranges)
        : made(kind.make()), subnets(std::move(ranges)) {
        store = connect();
    }
    [[nodiscard]] std::unique_ptr<Store> connect() const { return made->connect(subnets); }

    [[nodiscard]] Claim claim(std::string_view subnet) const {
        REQUIRE(std::count(subnets.begin(), subnets.end(), subnet) == 1);
        const base::IpPrefix range = base::IpPrefix::parse(subnet).value();
        return {.space = made->space(),
                .family = range.family(),
                .prefix_length = range.length(),
                .usable = {bounds_of(range, Edges::kept_free)},
                .wanted = std::nullopt,
                .cooldown = std::chrono::seconds(0)};
    }
    [[nodiscard]] Claim wanting(std::string_view subnet, std::string_view address) const {
        Claim one = claim(subnet);
        one.wanted = ip(address);
        return one;
    }
    [[nodiscard]] std::string reserve(const Owner& who, const std::vector<Claim>& claims) const {
        return text_of(store->reserve(who, claims, soon()));
    }
    [[nodiscard]] std::string release(const Owner& who) const { return text_of(store->release(who.key, soon())); }
    [[nodiscard]] std::string find(const Owner& who) const { return text_of(store->find(who.key, soon())); }
    [[nodiscard]] std::uint64_t leases(std::string_view subnet) const {
        return store->usage(claim(subnet), soon()).leases;
    }

    std::unique_ptr<StoreUnderTest> made;
    std::unique_ptr<Store> store;
    std::vector<std::string> subnets; // ranges of the network
};

/// `act` with each store that is there, for a network with these ranges.
template <class Act>
void for_each_store(const std::vector<std::string>& subnets, Act act) {
    for (const StoreKindUnderTest& kind : test::stores_under_test()) DYNAMIC_SECTION(kind.name) {
            act(Subject(kind, subnets));
        }
}

/// Owners whose container is in the list are dead, others live.
class Deaths : public LivenessProbe {
public:
    explicit Deaths(std::set<std::string> containers) : containers_(std::move(containers)) {}
    Verdict probe(const Owner& of) override {
        return {.liveness = containers_.contains(of.key.container_id) ? Liveness::dead : Liveness::alive};
    }

private:
    std::set<std::string> containers_;
};

Config config_in(const Subject& subject, const std::string& range) {
    return parse_config(json::Document::parse("{\"type\":\"rdmanet\",\"store\":\"node\",\"range\":\"" + range +
                                              "\",\"network_name\":\"" + subject.made->space() + "\"}")
                            .root());
}

} // namespace

TEST_CASE("an attachment gets an address, keeps it, and gives it back", "[store]") {
    for_each_store({"10.0.0.0/29"}, [](const Subject& on) {
        const Owner a = owner("a", "p");
        CHECK(on.find(a).empty());
        CHECK(on.release(a).empty());
        CHECK(on.store->has_free(on.claim("10.0.0.0/29"), soon()));

        const auto outcome = on.store->reserve(a, {on.claim("10.0.0.0/29")}, soon());
        const auto* granted = std::get_if<Granted>(&outcome);
        REQUIRE(granted != nullptr);
        const std::string address = text_of(granted->leases);
        CHECK(granted->fresh == granted->leases);
        CHECK(base::IpPrefix::parse("10.0.0.0/29")->contains(granted->leases.at(0).address.address()));
        CHECK(on.find(a) == address);
        CHECK(on.leases("10.0.0.0/29") == 1);

        const auto again = on.store->reserve(a, {on.claim("10.0.0.0/29")}, soon());
        CHECK(text_of(again) == address);
        CHECK(std::get<Granted>(again).fresh.empty());
        CHECK(on.release(a) == address);
        CHECK(on.release(a).empty());
        CHECK(on.find(a).empty());
        CHECK(on.leases("10.0.0.0/29") == 0);
    });
}

TEST_CASE("each address of a range is given once, until there is none", "[store]") {
    for_each_store({"10.0.0.0/29"}, [](const Subject& on) {
        std::set<std::string> given;
        for (const char* name : {"a", "b", "c", "d", "e", "f"})
            given.insert(on.reserve(owner(name, name), {on.claim("10.0.0.0/29")}));
        CHECK(given == std::set<std::string>{"10.0.0.1/29", "10.0.0.2/29", "10.0.0.3/29", "10.0.0.4/29", "10.0.0.5/29",
                                             "10.0.0.6/29"});
        CHECK(on.reserve(owner("g", "g"), {on.claim("10.0.0.0/29")}) == "exhausted");
        CHECK_FALSE(on.store->has_free(on.claim("10.0.0.0/29"), soon()));
        CHECK(on.leases("10.0.0.0/29") == 6);
        const std::string freed = on.release(owner("c", "c"));
        CHECK(on.store->has_free(on.claim("10.0.0.0/29"), soon()));
        CHECK(on.reserve(owner("g", "g"), {on.claim("10.0.0.0/29")}) == freed);
        CHECK(on.reserve(owner("a", "a"), {on.claim("10.0.0.0/29")}).starts_with("10.0.0.")); // its own
    });
}

TEST_CASE("a wanted address is given, or its holder is named", "[store]") {
    for_each_store({"10.0.0.0/24"}, [](const Subject& on) {
        CHECK(on.reserve(owner("a", "p"), {on.wanting("10.0.0.0/24", "10.0.0.77")}) == "10.0.0.77/24");
        CHECK(on.reserve(owner("b", "q"), {on.wanting("10.0.0.0/24", "10.0.0.77")}) == "taken by p");
        CHECK(on.find(owner("b", "q")).empty());
        CHECK(on.release(owner("a", "p")) == "10.0.0.77/24");
        CHECK(on.reserve(owner("b", "q"), {on.wanting("10.0.0.0/24", "10.0.0.77")}) == "10.0.0.77/24");
    });
}

TEST_CASE("an address for each claim, or none", "[store]") {
    for_each_store({"10.0.0.0/24", "fd00::/64"}, [](const Subject& on) {
        const Claim four = on.wanting("10.0.0.0/24", "10.0.0.9");
        const Claim six = on.wanting("fd00::/64", "fd00::9");
        CHECK(on.reserve(owner("a", "p"), {four, six}) == "10.0.0.9/24 fd00::9/64");
        CHECK(on.find(owner("a", "p")) == "10.0.0.9/24 fd00::9/64");
        CHECK(on.reserve(owner("b", "q"), {on.claim("10.0.0.0/24"), six}) == "taken by p");
        CHECK(on.find(owner("b", "q")).empty());
        CHECK(on.leases("10.0.0.0/24") == 1);
        CHECK(on.release(owner("a", "p")) == "10.0.0.9/24 fd00::9/64");
        CHECK(on.leases("10.0.0.0/24") + on.leases("fd00::/64") == 0);
    });
}

TEST_CASE("interfaces and containers of a pod are attachments of their own", "[store]") {
    for_each_store({"10.0.0.0/24"}, [](const Subject& on) {
        const std::string first = on.reserve(owner("a", "p"), {on.claim("10.0.0.0/24")});
        const std::string second = on.reserve(owner("a", "p", "net2"), {on.claim("10.0.0.0/24")});
        const std::string third = on.reserve(owner("b", "p"), {on.claim("10.0.0.0/24")});
        CHECK(std::set{first, second, third}.size() == 3);
        CHECK(on.release(owner("a", "p")) == first);
        CHECK(on.find(owner("a", "p", "net2")) == second);
        CHECK(on.find(owner("b", "p")) == third);
    });
}

TEST_CASE("a new container of a pod inherits what has not changed since it was read", "[store]") {
    for_each_store({"10.0.0.0/24"}, [](const Subject& on) {
        const std::string address = on.reserve(owner("old", "p"), {on.claim("10.0.0.0/24")});
        CHECK(on.store->find_predecessors(owner("old", "p"), soon()).empty());
        CHECK(on.store->find_predecessors(owner("new", "p", "net2"), soon()).empty());
        CHECK(on.store->find_predecessors(owner("new", "q"), soon()).empty());
        const auto left = on.store->find_predecessors(owner("new", "p"), soon());
        REQUIRE(text_of(left) == address);
        CHECK(text_of(on.store->adopt(left, owner("new", "p"), soon())) == address);
        CHECK(on.store->adopt(left, owner("newer", "p"), soon()).empty());
        CHECK(on.store->reclaim(left, soon()).empty());
        CHECK(on.release(owner("old", "p")).empty());
        CHECK(on.reserve(owner("new", "p"), {on.claim("10.0.0.0/24")}) == address);
        CHECK(text_of(on.store->find_predecessors(owner("newer", "p"), soon())) == address);

        const auto seen = on.store->find_predecessors(owner("newer", "p"), soon());
        CHECK(text_of(on.store->reclaim(seen, soon())) == address);
        CHECK(on.store->reclaim(seen, soon()).empty());
        CHECK(on.find(owner("new", "p")).empty());
        CHECK(on.leases("10.0.0.0/24") == 0);
    });
}

TEST_CASE("an address rests after it was given back", "[store]") {
    for_each_store({"10.0.0.0/29"}, [](const Subject& on) {
        Claim claim = on.claim("10.0.0.0/29");
        claim.cooldown = std::chrono::hours(1);
        claim.resting = Resting::left_alone; // a node whose block has one address would give it again
        const std::string first = on.reserve(owner("a", "p"), {claim});
        CHECK(on.release(owner("a", "p")) == first);
        const auto second = on.store->reserve(owner("b", "q"), {claim}, soon());
        CHECK(text_of(second) != first);
        REQUIRE(std::holds_alternative<Granted>(second));
        // Nobody can have used what an ADD withdraws.
        const auto unused = std::get<Granted>(second).fresh;
        CHECK(text_of(on.store->withdraw(owner("b", "q").key, unused, soon())) == text_of(unused));
        CHECK(on.reserve(owner("c", "r"), {claim}) == text_of(unused));
    });
}

TEST_CASE("a pod that is made again gets its address back, and others don't get it meanwhile", "[store]") {
    for_each_store({"10.0.0.0/29"}, [](const Subject& on) {
        Claim claim = on.claim("10.0.0.0/29");
        claim.cooldown = std::chrono::hours(1);
        claim.resting = Resting::left_alone;
        const auto again = [](const std::string& container) {
            Owner one = owner(container, "web-0");
            one.pod_uid = "uid-of-" + container;
            return one;
        };
        const std::string first = on.reserve(again("a"), {claim});
        CHECK(on.release(again("a")) == first);
        CHECK(on.reserve(owner("b", "web-1"), {claim}) != first);
        Owner other_interface = again("c");
        other_interface.key.ifname = "net2";
        CHECK(on.reserve(other_interface, {claim}) != first);
        const auto second = on.store->reserve(again("d"), {claim}, soon());
        CHECK(text_of(second) == first);
        // Also after an ADD that failed.
        (void)on.store->withdraw(again("d").key, std::get<Granted>(second).fresh, soon());
        CHECK(on.reserve(owner("e", "web-2"), {claim}) != first);
        CHECK(on.reserve(again("f"), {claim}) == first);
    });
}

TEST_CASE("an address that another host uses rests for its pod, too, even without a cooldown", "[store]") {
    for_each_store({"10.0.0.0/29"}, [](const Subject& on) {
        Claim claim = on.claim("10.0.0.0/29");
        claim.cooldown = std::chrono::seconds(GENERATE(0, 3600));
        claim.resting = Resting::left_alone;
        const auto first = on.store->reserve(owner("a", "p"), {claim}, soon());
        REQUIRE(std::holds_alternative<Granted>(first));
        auto foreign = std::get<Granted>(first).fresh;
        foreign.at(0).owner = {};
        CHECK(text_of(on.store->withdraw(owner("a", "p").key, foreign, soon())) == text_of(first));
        CHECK(on.leases("10.0.0.0/29") == 0);
        const std::string second = on.reserve(owner("b", "p"), {claim});
        CHECK(second != text_of(first));
        CHECK(on.reserve(owner("c", "q"), {claim}) != text_of(first));
    });
}

TEST_CASE("leases of a range are listed by address, in pages", "[store]") {
    for_each_store({"10.0.0.0/24"}, [](const Subject& on) {
        for (const char* last : {"5", "1", "9", "3"})
            (void)on.reserve(owner(last, last), {on.wanting("10.0.0.0/24", std::string("10.0.0.") + last)});
        Claim part = on.claim("10.0.0.0/24");
        part.usable = {{.first = ip("10.0.0.1").value(), .last = ip("10.0.0.4").value()},
                       {.first = ip("10.0.0.9").value(), .last = ip("10.0.0.9").value()}};
        CHECK(text_of(on.store->list(part, std::nullopt, 2, soon())) == "10.0.0.1/24 10.0.0.3/24");
        CHECK(text_of(on.store->list(part, ip("10.0.0.1"), 9, soon())) == "10.0.0.3/24 10.0.0.9/24");
        CHECK(on.store->list(part, ip("10.0.0.9"), 9, soon()).empty());
        CHECK(text_of(on.store->list_local(part, ip("10.0.0.1"), 9, soon())) == "10.0.0.3/24 10.0.0.9/24");
        CHECK(text_of(on.store->list_all(soon())) == "10.0.0.1/24 10.0.0.3/24 10.0.0.5/24 10.0.0.9/24");
        CHECK(on.store->usage(part, soon()).leases == 3);
    });
}

TEST_CASE("a full range gives the addresses of the dead, and a pod's own dead container is inherited", "[store]") {
    for_each_store({"10.0.0.0/30"}, [](const Subject& on) {
        const Config config = config_in(on, "10.0.0.0/30");
        Deaths nobody({});
        CHECK(Allocator(*on.store, nobody).allocate(config, owner("a", "p"), {}, soon()).ips.size() == 1);
        const std::string second =
            text_of(Allocator(*on.store, nobody).allocate(config, owner("b", "q"), {}, soon()).leases);
        CHECK_THROWS_AS(Allocator(*on.store, nobody).allocate(config, owner("c", "r"), {}, soon()), ExhaustedError);
        CHECK_FALSE(Allocator(*on.store, nobody).has_room(config.ranges.front(), soon()));

        Deaths b({"b"});
        CHECK(Allocator(*on.store, b).has_room(config.ranges.front(), soon()));
        const auto heir = Allocator(*on.store, b).allocate(config, owner("b2", "q"), {}, soon());
        CHECK(text_of(heir.leases) == second);
        CHECK(heir.fresh.empty());
        Deaths b2({"b2"});
        const auto other = Allocator(*on.store, b2).allocate(config, owner("c", "r"), {}, soon());
        CHECK(text_of(other.leases) == second);
        CHECK(other.reclaimed_from == std::vector{owner("b2", "q").key});
    });
}

TEST_CASE("a lease that is lost is made again for who uses it, unless somebody else has the address", "[store]") {
    for_each_store({"10.0.0.0/29"}, [](const Subject& on) {
        const auto regain = [&](const Lease& lease) {
            const auto all = on.store->regain({lease}, soon());
            REQUIRE(all.size() == 1);
            CHECK(all.front().lease == lease);
            return all.front();
        };
        const Owner a = owner("a", "p");
        const Lease lease = std::get<Granted>(on.store->reserve(a, {on.claim("10.0.0.0/29")}, soon())).leases.at(0);
        const Regained whole = regain(lease);
        CHECK(whole.made.empty());
        CHECK(whole.refused.empty());
        CHECK(on.release(a) == lease.address.to_string());
        const Regained made = regain(lease);
        CHECK(!made.made.empty()); // some stores say an address by two objects
        CHECK(made.refused.empty());
        CHECK(on.find(a) == lease.address.to_string());
        CHECK(on.release(a) == lease.address.to_string());
        const Owner b = owner("b", "q");
        CHECK(on.reserve(b, {on.wanting("10.0.0.0/29", lease.address.address().to_string())}) ==
              lease.address.to_string());
        const Regained refused = regain(lease);
        CHECK(refused.made.empty());
        CHECK(refused.refused.find("q") != std::string::npos);
        CHECK(on.find(a).empty());
        CHECK(on.find(b) == lease.address.to_string());
        CHECK(on.leases("10.0.0.0/29") == 1);
    });
}

TEST_CASE("processes that take and give at once never share an address, and leave nothing", "[store]") {
    for_each_store({"10.0.0.0/28"}, [](const Subject& on) {
        constexpr int kProcesses = 6;
        constexpr int kRounds = 8;
        std::mutex mutex;
        std::multiset<std::string> held;
        std::atomic<int> doubles{0};
        std::vector<std::thread> processes;
        for (int process = 0; process < kProcesses; ++process)
            processes.emplace_back([&, process] {
                const auto store = on.connect();
                for (int round = 0; round < kRounds;) {
                    const std::string name = std::to_string(process) + "-" + std::to_string(round);
                    try {
                        const std::string address =
                            text_of(store->reserve(owner(name, name), {on.claim("10.0.0.0/28")}, soon()));
                        if (!address.starts_with("10.0.0.")) continue; // its server was too busy to say more
                        {
                            const std::scoped_lock lock(mutex);
                            held.insert(address);
                            if (held.count(address) != 1) ++doubles;
                        }
                        {
                            const std::scoped_lock lock(mutex);
                            held.erase(held.find(address));
                        }
                        while (store->release(owner(name, name).key, soon()).empty()) {
                        }
                        ++round;
                    } catch (const StoreError& error) {
                        if (!error.temporary()) throw;
                    }
                }
            });
        for (std::thread& process : processes) process.join();
        CHECK(doubles == 0);
        CHECK(on.leases("10.0.0.0/28") == 0);
    });
}

} // namespace rdmanet::ipam::cases
