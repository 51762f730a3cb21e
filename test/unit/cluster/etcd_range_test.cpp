// Which store has a range, as etcd's own keys say it, and claims that race with a change of it.
#include "etcd_case.hpp"

#include <rdmanet/cluster/etcd_range.hpp>

#include <catch2/catch.hpp>

#include <atomic>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;

namespace {

std::vector<std::string> ranges_below(const std::string& prefix) {
    std::vector<std::string> ranges;
    for (const etcd::KeyValue& entry : entries_below(prefix))
        if (entry.key.starts_with("/-/r/")) ranges.push_back(entry.key + " " + entry.value);
    return ranges;
}

const std::string kRecorded = R"(/-/r/010.000.000.000-24 {"version":1,"store":"etcd"})";

} // namespace

TEST_CASE_METHOD(EtcdCase, "the first claim of a range records in etcd that it is etcd's", "[etcd]") {
    if (!is_there()) return;
    std::atomic<int> claims{0};
    const auto etcd = behind([&](const std::string& text) {
        claims += is_claim(text) ? 1 : 0;
        return Fate::answered;
    });
    const auto store = connect({.endpoints = {etcd->endpoint()}});
    CHECK(text_of(store->reserve(owner("a", "p"), {claim("10.0.0.0/24"), claim("10.0.0.0/24")}, soon())) != "");
    CHECK(claims == 2);
    CHECK(ranges_below(prefix) == std::vector{kRecorded});
    CHECK(text_of(connect({.endpoints = {etcd->endpoint()}})
                      ->reserve(owner("b", "q"), {wanting("10.0.0.0/24", "10.0.0.77")}, soon())) == "10.0.0.77/24");
    CHECK(claims == 3); // another process of the node: nothing but the claim
    // Ranges that overlap are etcd's as well. An address that the network sets records nothing.
    CHECK(text_of(store->reserve(owner("c", "r"), {wanting("10.0.0.0/16", "10.0.0.78")}, soon())) == "10.0.0.78/16");
    ipam::Claim fixed = wanting("10.9.0.0/24", "10.9.0.1");
    fixed.usable.clear();
    CHECK(text_of(store->reserve(owner("d", "s"), {fixed}, soon())) == "10.9.0.1/24");
    CHECK(ranges_below(prefix).size() == 2);
    for (const char* container : {"a", "b", "c", "d"}) (void)store->release(owner(container, "").key, soon());
    CHECK(keys_below(prefix).empty());
}

TEST_CASE_METHOD(EtcdCase, "of a range that another store has, etcd gives nothing, and keeps what it gave", "[etcd]") {
    if (!is_there()) return;
    const auto store = connect();
    CHECK(text_of(store->reserve(owner("a", "p"), {wanting("10.0.0.0/24", "10.0.0.5")}, soon())) == "10.0.0.5/24");
    record("10.0.0.0/24", "blocks");
    const auto check = [&](ipam::Store& one, const ipam::Claim& claim) {
        CHECK_THAT(why_not(one, owner("b", "q"), {claim}), Contains("permanent: ") && Contains("\"store\" etcd") &&
                                                               Contains("in store \"blocks\"") &&
                                                               Contains("range of its own"));
    };
    ipam::Claim fixed = wanting("10.0.0.0/28", "10.0.0.9");
    fixed.usable.clear();
    for (const ipam::Claim& claim : {claim("10.0.0.0/24"), wanting("10.0.0.0/24", "10.0.0.7"), claim("10.0.0.0/16"),
                                     claim("10.0.0.128/25"), fixed}) {
        check(*store, claim);
        check(*connect(), claim);
    }
    CHECK_THROWS_WITH(store->has_free(claim("10.0.0.0/24"), soon()), Contains("in store \"blocks\""));
    CHECK_THROWS_WITH(store->usage(claim("10.0.0.0/24"), soon()), Contains("in store \"blocks\""));
    fixed.wanted = ip("10.0.1.9"); // in no range
    CHECK(text_of(store->reserve(owner("c", "r"), {claim("10.0.1.0/24"), fixed}, soon())).ends_with(" 10.0.1.9/28"));
    CHECK(store->release(owner("c", "r").key, soon()).size() == 2);

    SECTION("a repeated ADD gets the same address") {
        CHECK(text_of(store->reserve(owner("a", "p"), {claim("10.0.0.0/24")}, soon())) == "10.0.0.5/24");
    }
    SECTION("the pod's next container takes the address over") {
        const auto before = store->find_predecessors(owner("b", "p"), soon());
        REQUIRE(before.size() == 1);
        CHECK(store->adopt(before, owner("b", "p"), soon()).size() == 1);
        CHECK(text_of(store->reserve(owner("b", "p"), {claim("10.0.0.0/24")}, soon())) == "10.0.0.5/24");
        CHECK(store->release(owner("b", "p").key, soon()).size() == 1);
    }
    SECTION("a lease whose keys somebody removed is not made again") {
        const auto leases = store->find(owner("a", "p").key, soon());
        for (const std::string& key : keys_below(prefix)) remove_key(prefix + key);
        const auto regained = store->regain(leases, soon());
        REQUIRE(regained.size() == 1);
        CHECK_THAT(regained[0].refused, Contains("in store \"blocks\"") && Contains("delete the pod"));
    }
    SECTION("and gives again when the range is back") {
        record("10.0.0.0/24");
        CHECK(text_of(store->reserve(owner("b", "q"), {wanting("10.0.0.0/24", "10.0.0.7")}, soon())) == "10.0.0.7/24");
        CHECK(store->release(owner("b", "q").key, soon()).size() == 1);
    }
    SECTION("nor while it is on its way back") {
        record("10.0.0.0/24", "blocks>etcd");
        CHECK_THAT(why_not(*store, owner("b", "q"), {claim("10.0.0.0/24")}),
                   Contains("temporary: ") && Contains("on its way to etcd"));
    }
    SECTION("nor where nobody can read which store it is") {
        (void)connect_to(servers_of("one"))
            .run(etcd::Transaction().put(prefix + "/-/r/010.000.000.000-24", "mine"), soon());
        CHECK_THAT(why_not(*store, owner("b", "q"), {claim("10.0.0.0/24")}),
                   Contains("permanent: ") && Contains("etcdctl del") && Contains("/-/r/010.000.000.000-24"));
    }
    (void)store->release(owner("a", "p").key, soon());
    CHECK(keys_below(prefix).empty());
}

TEST_CASE_METHOD(EtcdCase, "a claim on its way has no effect once its range is another store's", "[etcd]") {
    if (!is_there()) return;
    record("10.0.0.0/24");
    std::atomic<bool> is_killed{false};
    const auto etcd = behind([&](const std::string& text) {
        if (is_killed) return Fate::dropped;
        is_killed = is_claim(text);
        return is_killed ? Fate::kept_back : Fate::answered;
    });
    CHECK_THROWS_AS(connect({.endpoints = {etcd->endpoint()}})
                        ->reserve(owner("a", "p"), {claim("10.0.0.0/24")}, base::Deadline::in(1s)),
                    base::Error);
    record("10.0.0.0/24", "blocks");
    const std::string late = etcd->deliver_late();
    CHECK_THAT(late, Contains("200 OK") && !Contains("\"succeeded\":true"));
    CHECK(keys_below(prefix).empty());
}

TEST_CASE_METHOD(EtcdCase, "a range goes to another store while the first claim of one that overlaps is on its way",
                 "[etcd]") {
    if (!is_there()) return;
    record("10.0.0.0/24");
    std::atomic<int> claims{0};
    const auto etcd = behind([&](const std::string& text) {
        // The first one learns that nobody has recorded 10.0.0.0/25, the second one is to record it.
        if (is_claim(text) && ++claims == 2) record("10.0.0.0/24", "blocks");
        return Fate::answered;
    });
    const auto store = connect({.endpoints = {etcd->endpoint()}});
    ipam::Claim fixed = wanting("10.0.0.0/25", "10.0.0.9");
    SECTION("of a range") {
        CHECK_THAT(why_not(*store, owner("a", "p"), {claim("10.0.0.0/25")}), Contains("in store \"blocks\""));
    }
    SECTION("of an address that the network sets") {
        fixed.usable.clear();
        CHECK_THAT(why_not(*store, owner("a", "p"), {fixed}), Contains("in store \"blocks\""));
    }
    CHECK(claims == 2);
    CHECK(ranges_below(prefix).size() == 1);
    CHECK(keys_below(prefix).empty());
}

namespace {

class EtcdRangeCase : public EtcdCase {
public:
    [[nodiscard]] EtcdRange range(const etcd::Servers& servers, std::string_view subnet = "10.0.0.0/24") const {
        return {connect_to(servers), prefix, {.space = "", .subnet = prefix_of(subnet)}};
    }
    [[nodiscard]] EtcdRange range() const { return range(servers_of("one")); }

    static std::vector<ipam::Interval> addresses(std::string_view first, std::string_view last) {
        return {{ip(first).value(), ip(last).value()}};
    }
    /// Who has which, as a person reads it in etcd.
    [[nodiscard]] std::vector<std::string> held() const {
        std::vector<std::string> held;
        for (const etcd::KeyValue& entry : entries_below(prefix))
            if (const auto hold = parse_stored_hold(entry.value)) held.push_back(entry.key + " " + hold->holder);
        return held;
    }
    static std::string text_of_refusal(const std::function<void()>& act) {
        try {
            act();
        } catch (const ipam::StoreError& error) {
            return std::string(error.temporary() ? "temporary: " : "permanent: ") + error.what();
        }
        return "done";
    }
};

} // namespace

TEST_CASE_METHOD(EtcdRangeCase, "a range comes to etcd without what another store still has", "[etcd]") {
    if (!is_there()) return;
    EtcdRange coming = range();
    EtcdRange::Record record = coming.read(soon());
    CHECK(record.store == "");
    coming.prepare("blocks", record, soon());
    const auto store = connect();
    CHECK_THAT(why_not(*store, owner("a", "p"), {claim("10.0.0.0/24")}), Contains("on its way to etcd"));
    CHECK(coming.hold("AddressRange x", addresses("10.0.0.0", "10.0.0.252"), record, soon()).empty());
    CHECK(held().size() == 253);
    CHECK_THAT(why_not(*store, owner("a", "p"), {claim("10.0.0.0/24")}), Contains("on its way to etcd"));
    coming.give(record, soon());

    CHECK(text_of(store->reserve(owner("a", "p"), {claim("10.0.0.0/24"), claim("10.0.0.0/24")}, soon())).size() ==
          sizeof "10.0.0.253/24 10.0.0.254/24" - 1);
    CHECK(text_of(store->reserve(owner("b", "q"), {claim("10.0.0.0/24")}, soon())) == "exhausted");
    CHECK(store->usage(claim("10.0.0.0/24"), soon()).leases == 254);
    CHECK_THROWS_WITH(store->reserve(owner("b", "q"), {wanting("10.0.0.0/24", "10.0.0.7")}, soon()),
                      Contains("10.0.0.7 is held by AddressRange x"));
    CHECK(store->list_local(claim("10.0.0.0/24"), std::nullopt, 500, soon()).size() == 2);
    CHECK(coming.leases(soon()).at("n1").size() == 2);

    // The other store has less by and by. Another holder's are its own.
    CHECK(coming.hold("node n9", addresses("10.0.0.0", "10.0.0.1"), record, soon()).empty());
    CHECK(held().size() == 253);
    CHECK(coming.hold("AddressRange x", addresses("10.0.0.7", "10.0.0.8"), record, soon()).empty());
    CHECK(coming.hold("node n9", addresses("10.0.0.1", "10.0.0.1"), record, soon()).empty());
    CHECK(held() == std::vector<std::string>{"/-/a/010.000.000.001 node n9", "/-/a/010.000.000.007 AddressRange x",
                                             "/-/a/010.000.000.008 AddressRange x"});
    CHECK(text_of(store->reserve(owner("b", "q"), {wanting("10.0.0.0/24", "10.0.0.9")}, soon())) == "10.0.0.9/24");
    // What a pod of etcd has by now stays that pod's.
    const auto both = coming.hold("AddressRange x", addresses("10.0.0.8", "10.0.0.9"), record, soon());
    CHECK(both == addresses("10.0.0.9", "10.0.0.9"));
    CHECK(coming.hold("AddressRange x", {}, record, soon()).empty());
    CHECK(coming.hold("node n9", {}, record, soon()).empty());
    for (const char* container : {"a", "b"}) (void)store->release(owner(container, "").key, soon());
    CHECK(keys_below(prefix).empty());
}

TEST_CASE_METHOD(EtcdRangeCase, "who comes with an older record of a range changes nothing in etcd", "[etcd]") {
    if (!is_there()) return;
    EtcdRange coming = range();
    EtcdRange::Record old = coming.read(soon());
    SECTION("that was not there") {}
    SECTION("of the way to etcd") {
        coming.prepare("blocks", old, soon());
    }
    SECTION("with the same text") {
        (void)coming.take("blocks", soon());
        old = coming.read(soon());
    }
    SECTION("of etcd") {
        record("10.0.0.0/24");
        old = coming.read(soon());
        CHECK(coming.hold("x", addresses("10.0.0.1", "10.0.0.1"), old, soon()).empty());
    }
    const auto before = held();
    const EtcdRange::Record taken = range().take("blocks", soon());
    EtcdRange::Record same = old;
    if (old.store != "etcd") {
        CHECK_THAT(text_of_refusal([&] { coming.prepare("blocks", same, soon()); }), Contains("temporary: "));
        CHECK_THAT(text_of_refusal([&] { coming.give(same, soon()); }), Contains("run this command again"));
    }
    CHECK_THAT(text_of_refusal([&] { (void)coming.hold("x", addresses("10.0.0.5", "10.0.0.6"), old, soon()); }),
               Contains("temporary: ") && Contains("10.0.0.0/24"));
    CHECK(held() == before);
    const EtcdRange::Record now = coming.read(soon());
    CHECK((now.store == "blocks" && now.revision == taken.revision));
    CHECK_THAT(why_not(*connect(), owner("a", "p"), {claim("10.0.0.0/24")}), Contains("in store \"blocks\""));
}

TEST_CASE_METHOD(EtcdRangeCase, "of a range that was taken from etcd, all addresses are known", "[etcd]") {
    if (!is_there()) return;
    const auto store = connect();
    CHECK(text_of(store->reserve(owner("a", "p"), {wanting("10.0.0.0/24", "10.0.0.5")}, soon())) == "10.0.0.5/24");
    CHECK(text_of(store->reserve(owner("b", "q"), {wanting("10.0.1.0/24", "10.0.1.5")}, soon())) == "10.0.1.5/24");
    (void)connect_to(servers_of("one"))
        .run(etcd::Transaction().put(prefix + "/-/a/010.000.000.255", "somebody's"), soon());
    CHECK(range().has_leases(soon()));
    SECTION("also if the answer to the taking was lost") {
        std::atomic<int> changes{0};
        const auto etcd = behind([&](const std::string& text) {
            return text.find("request_put") != std::string::npos && ++changes == 1 ? Fate::answer_lost : Fate::answered;
        });
        CHECK(range({.endpoints = {etcd->endpoint()}}).take("blocks", soon()).store == "blocks");
        CHECK(changes > 1);
    }
    SECTION("of the range alone") {
        CHECK(range().take("blocks", soon()).store == "blocks");
    }
    const auto leases = range().leases(soon());
    REQUIRE(leases.size() == 2);
    CHECK(leases.at("n1") == addresses("10.0.0.5", "10.0.0.5"));
    CHECK(leases.at("") == addresses("10.0.0.255", "10.0.0.255"));
    CHECK(text_of(store->release(owner("a", "p").key, soon())) == "10.0.0.5/24");
    CHECK(range().leases(soon()).size() == 1);
    // A range of other length has the same addresses.
    CHECK_THAT(text_of_refusal([&] { (void)range(servers_of("one"), "10.0.0.0/23").take("blocks", soon()); }),
               Contains("permanent: ") && Contains("overlaps range 10.0.") && Contains("etcdctl del"));
    remove_key(prefix + "/-/a/010.000.000.255");
    (void)store->release(owner("b", "q").key, soon());
    CHECK(keys_below(prefix).empty());
}
