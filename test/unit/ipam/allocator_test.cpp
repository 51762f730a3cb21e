#include "fixture.hpp"

#include "support/names.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <set>
#include <utility>

using namespace rdmanet;
using namespace rdmanet::ipam;
using namespace rdmanet::ipam::test;
using Catch::Matchers::Contains;
using rdmanet::test::Names;

namespace {

class FakeProbe final : public LivenessProbe {
public:
    Verdict probe(const Owner& owner) override {
        ++calls;
        if (meanwhile) std::exchange(meanwhile, nullptr)();
        if (dead.count(owner.key.container_id) != 0) return {.liveness = Liveness::dead};
        if (unknown.count(owner.key.container_id) != 0) return {.reason = "it is not to be seen"};
        return {.liveness = Liveness::alive};
    }
    std::set<std::string> dead;
    std::set<std::string> unknown;
    int calls = 0;
    std::function<void()> meanwhile; // another process does this during the first call
};

RequestedAddress requested_address(std::string_view text) {
    if (const auto prefix = base::IpPrefix::parse(text)) return {prefix->address(), prefix->length()};
    return {base::IpAddress::parse(text).value(), std::nullopt};
}

class AllocatorFixture : public SoundStore {
public:
    Allocation allocate(std::string_view ipam, const Owner& who, const std::vector<std::string>& wanted = {}) {
        std::vector<RequestedAddress> requested;
        for (const auto& text : wanted) requested.push_back(requested_address(text));
        return allocator.allocate(config(ipam), who, requested, soon());
    }
    std::string ips(std::string_view ipam, const Owner& who, const std::vector<std::string>& wanted = {}) {
        std::string text;
        for (const auto& given : allocate(ipam, who, wanted).ips)
            text += (text.empty() ? "" : " ") + given.address.to_string() +
                    (given.gateway ? " via " + given.gateway->to_string() : "");
        return text;
    }
    template <class Error>
    std::string refusal(std::string_view ipam, const Owner& who, const std::vector<std::string>& wanted = {}) {
        try {
            (void)allocate(ipam, who, wanted);
        } catch (const Error& error) {
            return error.what();
        }
        return "no such refusal";
    }

    FakeProbe probe;
    Allocator allocator{store, probe};
};

constexpr const char* kDual = R"({"range": "10.0.0.0/24", "gateway": "10.0.0.1",
    "ipRanges": [{"range": "fd00::/64"}], "routes": [{"dst": "0.0.0.0/0"}], "dns": {"domain": "x"}})";
constexpr const char* kTwo = R"({"range": "10.0.0.0/30"})";

} // namespace

TEST_CASE_METHOD(AllocatorFixture, "an attachment gets one address of each range, with gateway, routes and DNS") {
    const Allocation given = allocate(kDual, owner("a"));
    CHECK(ips(kDual, owner("a")) == "10.0.0.2/24 via 10.0.0.1 fd00::1/64");
    CHECK(given.routes.size() == 1);
    CHECK(given.dns.domain == "x");
    CHECK(given.leases.size() == 2);
    CHECK(given.leases == store.find(owner("a").key, soon()));
    CHECK(given.warnings.empty());
}

TEST_CASE_METHOD(AllocatorFixture,
                 "a repeated request never gives a second address, even if the configuration changed") {
    CHECK(ips(kDual, owner("a")) == "10.0.0.2/24 via 10.0.0.1 fd00::1/64");
    CHECK(ips(kDual, owner("a")) == "10.0.0.2/24 via 10.0.0.1 fd00::1/64");
    CHECK(ips(R"({"range": "10.7.0.0/24", "gateway": "10.7.0.1"})", owner("a")) == "10.0.0.2/24");
    CHECK(ips(kDual, owner("b")) == "10.0.0.3/24 via 10.0.0.1 fd00::2/64");
}

TEST_CASE_METHOD(AllocatorFixture, "overlapping ranges never give one address twice") {
    constexpr const char* overlapping = R"({"range": "10.0.0.0/24", "ipRanges": [{"range": "10.0.0.0/16"}]})";
    CHECK(ips(overlapping, owner("a")) == "10.0.0.1/24 10.0.0.2/16");
    CHECK(ips(R"({"range": "10.0.0.0/8"})", owner("b")) == "10.0.0.3/8");
    CHECK(ips(R"({"range": "10.0.0.0/8", "network_name": "blue"})", owner("c")) == "10.0.0.1/8");
    CHECK(ips(R"({"range": "10.0.0.0/8", "enable_overlapping_ranges": false})", owner("d")) == "10.0.0.1/8");
}

TEST_CASE_METHOD(AllocatorFixture, "static addresses are reserved too") {
    constexpr const char* both =
        R"({"range": "10.0.0.0/24", "addresses": [{"address": "10.0.0.1/24", "gateway": "10.0.0.99"}]})";
    CHECK(ips(both, owner("a")) == "10.0.0.2/24 10.0.0.1/24 via 10.0.0.99");
    CHECK(ips(R"({"range": "10.0.0.0/24"})", owner("b")) == "10.0.0.3/24");
    CHECK_THAT(refusal<RequestedAddressTaken>(both, owner("c")), Names("10.0.0.1", "taken", "\"a\"", "net1"));
}

TEST_CASE_METHOD(AllocatorFixture, "the range that contains a requested address gives it") {
    CHECK(ips(kDual, owner("a"), {"fd00::77/64", "10.0.0.50"}) == "10.0.0.50/24 via 10.0.0.1 fd00::77/64");
    CHECK(ips(kDual, owner("b"), {"fd00::78"}) == "10.0.0.2/24 via 10.0.0.1 fd00::78/64");
    CHECK(ips(kDual, owner("b"), {"fd00::78"}) == "10.0.0.2/24 via 10.0.0.1 fd00::78/64");
    CHECK(ips(R"({"range": "10.0.0.0/24", "ipRanges": [{"range": "10.0.0.0/16"}]})", owner("c"),
              {"10.0.0.60", "10.0.0.61"}) == "10.0.0.60/24 10.0.0.61/16");
    CHECK_THAT(allocate(kDual, owner("d"), {"10.0.0.70/8"}).warnings.at(0), Names("prefix length", "24"));
}

TEST_CASE_METHOD(AllocatorFixture, "the refusal of a requested address names the reason") {
    using Invalid = RequestedAddressInvalid;
    CHECK_THAT(refusal<Invalid>(kDual, owner("a"), {"10.1.0.1"}),
               Names("10.1.0.1", "outside", "10.0.0.0/24", "fd00::/64"));
    CHECK_THAT(refusal<Invalid>(kDual, owner("a"), {"10.0.0.1"}), Names("10.0.0.1", "gateway"));
    CHECK_THAT(refusal<Invalid>(kDual, owner("a"), {"10.0.0.5", "10.0.0.6"}), Contains("another requested address"));
    CHECK_THAT(refusal<Invalid>(R"({"range": "10.0.0.0/24", "exclude": ["10.0.0.9"]})", owner("a"), {"10.0.0.9"}),
               Contains("excluded"));
    CHECK_THAT(refusal<Invalid>(R"({"range": "10.0.0.0/24", "routes": [{"dst": "10.9.0.0/16", "gw": "10.0.0.1"}]})",
                                owner("a"), {"10.0.0.1"}),
               Names("gateway", "10.9.0.0/16"));
    CHECK_THAT(refusal<Invalid>(kDual, owner("a"), {"10.0.0.0"}), Contains("outside"));
    CHECK(store.list_all(soon()).empty());

    CHECK(ips(kDual, owner("a", "u1"), {"10.0.0.5"}) == "10.0.0.5/24 via 10.0.0.1 fd00::1/64");
    CHECK_THAT(refusal<RequestedAddressTaken>(kDual, owner("b"), {"10.0.0.5"}),
               Names("10.0.0.5", "taken", "default/pod-u1", "\"a\""));
    CHECK_THAT(refusal<Invalid>(kDual, owner("a"), {"10.0.0.6"}), Names("10.0.0.6", "10.0.0.5/24"));
    probe.dead = {"a"};
    CHECK(ips(kDual, owner("b"), {"10.0.0.5"}) == "10.0.0.5/24 via 10.0.0.1 fd00::2/64");
}

TEST_CASE_METHOD(AllocatorFixture, "the next container of a pod takes over from a dead one, never from another") {
    CHECK(ips(kDual, owner("a", "uid")) == "10.0.0.2/24 via 10.0.0.1 fd00::1/64");
    CHECK(ips(kDual, owner("b", "uid")) == "10.0.0.3/24 via 10.0.0.1 fd00::2/64");
    probe.unknown = {"a", "b"};
    CHECK(ips(kDual, owner("c", "uid")) == "10.0.0.4/24 via 10.0.0.1 fd00::3/64");
    probe.dead = {"a"};
    CHECK(ips(kDual, owner("d", "uid")) == "10.0.0.2/24 via 10.0.0.1 fd00::1/64");
    CHECK(store.release(owner("a").key, soon()).empty()); // the late DEL of the old container
    CHECK(allocator.check(owner("d").key, {prefix("10.0.0.2/24"), prefix("fd00::1/64")}, soon()).empty());
}

TEST_CASE_METHOD(AllocatorFixture, "leases of a dead predecessor outside of the present configuration are released") {
    CHECK(ips(R"({"range": "10.7.0.0/24", "ipRanges": [{"range": "fd00::/64"}]})", owner("a", "uid")) ==
          "10.7.0.1/24 fd00::1/64");
    probe.dead = {"a"};
    CHECK(ips(kDual, owner("b", "uid")) == "10.0.0.2/24 via 10.0.0.1 fd00::1/64");
    CHECK(store.list_all(soon()).size() == 2);
}

TEST_CASE_METHOD(AllocatorFixture, "a full range reclaims leases of dead owners, and only those") {
    CHECK(ips(kTwo, owner("a")) == "10.0.0.1/30");
    CHECK(ips(kTwo, owner("b")) == "10.0.0.2/30");
    probe.unknown = {"b"};
    CHECK_THAT(refusal<ExhaustedError>(kTwo, owner("c")),
               Names("10.0.0.0/30", "2 leases", "0 of them", "`rdmanet state`") && !Contains("rdmanet gc"));
    probe.dead = {"a"};
    CHECK(ips(kTwo, owner("c")) == "10.0.0.1/30");
    CHECK_THAT(refusal<ExhaustedError>(kTwo, owner("d")), Contains("2 leases"));
}

TEST_CASE_METHOD(AllocatorFixture, "leases of dead owners are reclaimed before a resting address is given") {
    constexpr const char* kThree = R"({"range": "10.0.0.0/29", "range_end": "10.0.0.3"})";
    CHECK(ips(kThree, owner("a")) == "10.0.0.1/29");
    CHECK(ips(kThree, owner("b")) == "10.0.0.2/29");
    (void)store.release(owner("b").key, soon());
    probe.dead = {"a"};
    CHECK(ips(kThree, owner("c")) == "10.0.0.3/29");
    CHECK(probe.calls == 0);
    now.boot += 1;
    const Allocation given = allocate(kThree, owner("d"));
    CHECK(text_of(given.leases) == "10.0.0.2/29"); // rests longer than the reclaimed addresses
    CHECK(given.reclaimed_from == std::vector<OwnerKey>{owner("a").key});
    CHECK(ips(kThree, owner("e")) == "10.0.0.1/29");
    (void)store.release(owner("e").key, soon());
    constexpr const char* kWithoutRest = R"({"range": "10.0.0.0/29", "range_end": "10.0.0.3", "cooldown": 0})";
    (void)store.release(owner("d").key, soon());
    CHECK(ips(kWithoutRest, owner("f")) == "10.0.0.1/29");
    probe.dead = {"f"};
    CHECK(ips(kThree, owner("g")) == "10.0.0.1/29"); // 10.0.0.2 still rests
}

TEST_CASE_METHOD(AllocatorFixture, "an address that another process reclaims first is free nevertheless") {
    LeaseFile other(options());
    const auto taken_back_meanwhile = [&](const std::string& container) {
        probe.dead = {container};
        probe.meanwhile = [&, container] { (void)other.release(owner(container).key, soon()); };
    };
    CHECK(ips(kTwo, owner("a")) == "10.0.0.1/30");
    CHECK(ips(kTwo, owner("b")) == "10.0.0.2/30");
    taken_back_meanwhile("a");
    CHECK(ips(kTwo, owner("c")) == "10.0.0.1/30");
    taken_back_meanwhile("b");
    CHECK(ips(kTwo, owner("d"), {"10.0.0.2"}) == "10.0.0.2/30");
}

TEST_CASE_METHOD(AllocatorFixture, "check names every difference") {
    (void)allocate(kDual, owner("a"));
    CHECK(allocator.check(owner("a").key, {prefix("fd00::1/64"), prefix("10.0.0.2/24")}, soon()).empty());
    const auto faults = allocator.check(owner("a").key, {prefix("10.0.0.2/16"), prefix("fd00::1/64")}, soon());
    REQUIRE(faults.size() == 2);
    CHECK_THAT(faults[0], Names("10.0.0.2/16", "leased"));
    CHECK_THAT(faults[1], Names("10.0.0.2/24", "leased"));
    CHECK(allocator.check(owner("z").key, {prefix("10.0.0.2/24")}, soon()).size() == 1);
}

TEST_CASE_METHOD(AllocatorFixture, "a range has room if an address is free, rests, or has a dead owner") {
    const Config two = config(kTwo);
    const auto has_room = [&] { return allocator.has_room(two.ranges.at(0), soon()); };
    CHECK(has_room());
    (void)allocate(kTwo, owner("a"));
    CHECK(has_room());
    (void)allocate(kTwo, owner("b"));
    CHECK_FALSE(has_room());
    probe.dead = {"b"};
    CHECK(has_room());
    probe.dead = {};
    (void)store.release(owner("a").key, soon());
    CHECK(has_room());
    CHECK(allocator.usage(two.ranges.at(0), soon()).leases == 1);
    CHECK(allocator.usage(two.ranges.at(0), soon()).cooling == 1);
    CHECK(allocator.usage(config(kDual).ranges.at(0), soon()).cooling == 0); // 10.0.0.1 rests, but is the gateway here
}

TEST_CASE_METHOD(AllocatorFixture, "a preview refuses in the same words, and changes nothing") {
    const auto foreseen = [&](const char* ipam, const std::vector<std::string>& wanted = {}) -> std::string {
        std::vector<RequestedAddress> requested;
        for (const std::string& text : wanted) requested.push_back(requested_address(text));
        try {
            const std::vector<std::string> warnings = allocator.foresee(config(ipam), requested, soon());
            return warnings.empty() ? "" : warnings.front();
        } catch (const base::Error& error) {
            return error.what();
        }
    };
    CHECK(foreseen(kTwo) == "");
    CHECK_THAT(foreseen(kTwo, {"10.0.0.1/31"}), Names("10.0.0.1/31", "prefix length"));
    (void)allocate(kTwo, owner("a"));
    (void)allocate(kTwo, owner("b"));
    CHECK(foreseen(kTwo) == refusal<ExhaustedError>(kTwo, owner("c")));
    CHECK(foreseen(kTwo, {"10.0.0.1"}) == refusal<RequestedAddressTaken>(kTwo, owner("c"), {"10.0.0.1"}));
    CHECK(foreseen(kTwo, {"10.9.9.9"}) == refusal<RequestedAddressInvalid>(kTwo, owner("c"), {"10.9.9.9"}));
    probe.dead = {"a"};
    CHECK(foreseen(kTwo) == "");
    CHECK(foreseen(kTwo, {"10.0.0.1"}) == "");
    CHECK(text_of(store.find(owner("a").key, soon())) == "10.0.0.1/30");
}

TEST_CASE_METHOD(AllocatorFixture, "a withdrawn address does not rest, unless it was a predecessor's") {
    const auto step = GENERATE(-1000, 0, 10); // somebody may set the wall clock back between two ADDs
    const auto fresh_of = [&](const Owner& who) { return allocate(kTwo, who).fresh; };
    const auto first = fresh_of(owner("a", "u1"));
    CHECK(text_of(first) == "10.0.0.1/30");
    now.epoch += step;
    CHECK(text_of(store.withdraw(owner("a").key, first, soon())) == "10.0.0.1/30");
    CHECK(ips(kTwo, owner("b", "u2")) == "10.0.0.1/30");
    CHECK(fresh_of(owner("b", "u2")).empty()); // a repeated ADD
    now.epoch += step;
    probe.dead = {"b"};
    const auto taken_over = fresh_of(owner("c", "u2"));
    CHECK(taken_over.empty());
    CHECK(text_of(store.withdraw(owner("c").key, taken_over, soon())) == "10.0.0.1/30");
    CHECK(ips(kTwo, owner("d", "u4")) == "10.0.0.2/30");
}
