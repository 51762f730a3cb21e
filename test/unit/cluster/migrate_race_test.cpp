// What comes between the steps of `rdmanet ipam migrate`.
#include "migrate_fixture.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

class Crossed : public Moves {
public:
    /// Acts once, right before the server sees the request.
    static std::function<Fate(const std::string&)> before(std::function<bool(const std::string&)> is_it,
                                                          std::function<void()> act) {
        return [is_it = std::move(is_it), act = std::move(act), done = false](const std::string& request) mutable {
            if (!done && is_it(request)) {
                done = true;
                act();
            }
            return Fate::passes;
        };
    }
    static bool is_change_of_range(const std::string& request) {
        return request.starts_with("PATCH " + std::string(kRangesPath)) && request.find("dryRun") == std::string::npos;
    }
    /// A node that knows the range from another one, and hears nothing more of it once it has made a block.
    std::unique_ptr<TestNode> node_that_has_made_a_block(Relay& relay, TestNode& other) {
        auto one = node_behind(relay, "b");
        relay.decide([](const std::string& request) {
            return request.starts_with("GET " + std::string(kRangesPath)) ? Fate::is_lost : Fate::passes;
        });
        one->file->put_range(other.file->ranges(soon()).front(), soon());
        return one;
    }
    std::string path_of_pool(const std::string& range) const { return kPoolsOfMoves + "/" + space + "-" + range; }
};

} // namespace

TEST_CASE_METHOD(Crossed, "a deleted range that moves keeps what other stores have, and so do the marked pools",
                 "[moves]") {
    if (!is_there()) return;
    REQUIRE(add_to_pool("p1") == "10.0.0.1/26");
    REQUIRE(migrate_to("blocks") == "moved 10.0.0.1-10.0.0.1");
    delete_object(path_of_range("10.0.0.0-26"));
    auto a = node("a");
    REQUIRE(a->store->tidy(soon()));
    CHECK(ranges() == "10.0.0.0/26 going");
    CHECK_THAT(add_to_block(*a, "b1"), Contains("somebody has deleted AddressRange") && Contains("ipam migrate"));
    CHECK(migrate_to("blocks") == "moved 10.0.0.1-10.0.0.1");
    CHECK(migrate_to("whereabouts") == "moved"); // the way back stays open
    CHECK_THAT(migrate_to("blocks"), Contains("somebody has deleted AddressRange"));

    patch(path_of_range("10.0.0.0-26"), R"([{"op":"remove","path":"/metadata/finalizers"}])"); // by force
    REQUIRE(ranges().empty());
    CHECK_THAT(add_to_block(*a, "b1"), Contains("has 1 lease in whereabouts' IPPool"));
    CHECK(release_in_pool("p1") == "10.0.0.1/26");
    CHECK(is_address(add_to_block(*a, "b1")));
}

TEST_CASE_METHOD(Crossed, "a deleted range that moves goes when no other store has an address of it", "[moves]") {
    if (!is_there()) return;
    REQUIRE(add_to_pool("p1") == "10.0.0.1/26");
    REQUIRE(migrate_to("blocks") == "moved 10.0.0.1-10.0.0.1");
    delete_object(path_of_range("10.0.0.0-26"));
    REQUIRE(release_in_pool("p1") == "10.0.0.1/26");
    CHECK(migrate_to("blocks") == "moved");
    auto a = node("a");
    REQUIRE(a->store->tidy(soon()));
    CHECK(ranges().empty());
}

TEST_CASE_METHOD(Crossed, "a range that somebody has deleted does not begin to move", "[moves]") {
    if (!is_there()) return;
    auto a = node("a");
    REQUIRE(is_address(add_to_block(*a, "b1")));
    delete_object(path_of_range("10.0.0.0-26"));
    CHECK_THAT(migrate_to("whereabouts"), Contains("somebody has deleted AddressRange"));
    CHECK(recorded() == "blocks");
}

TEST_CASE_METHOD(Crossed, "migrate refuses a namespace that has no pool of the range", "[moves]") {
    if (!is_there()) return;
    REQUIRE(add_to_pool("p1") == "10.0.0.1/26");
    kube::Access access = kube::read_kubeconfig(*cluster_directory() + "/admin.kubeconfig");
    access.name_space = "default";
    kube::Api elsewhere(access, http::Limits{.connect = 60s, .request = 60s});
    CHECK_THAT(migrate_to("blocks", elsewhere),
               Contains("namespace \"default\" has no IPPool") && Contains("--namespace"));
    CHECK(recorded() == "whereabouts");
    REQUIRE(migrate_to("blocks") == "moved 10.0.0.1-10.0.0.1");
    CHECK_THAT(migrate_to("blocks", elsewhere), Contains("--namespace"));
    CHECK(recorded() == R"(whereabouts>blocks ["10.0.0.1"])");
}

TEST_CASE_METHOD(Crossed, "two spaces with one pool: what moves in one is not given in the other", "[moves]") {
    if (!is_there()) return;
    const std::string whole = space;
    const auto in_range = [&](ipam::Claim one) {
        one.space = whole + "@" + kRange;
        return one;
    };
    REQUIRE(add_to_pool("p1") == "10.0.0.1/26");
    REQUIRE(release_in_pool("p1") == "10.0.0.1/26");
    auto a = node("a");
    const std::string given = add_to_block(*a, "b1", in_range(claim(kRange)));
    REQUIRE(is_address(given));
    MigrateOptions its = options_to("whereabouts");
    its.places.front().space += "@" + kRange;
    REQUIRE_THAT(migrate_by(its, *admin), StartsWith("moved 10."));
    const std::string of_its_pool = add_to_pool("p2", in_range(claim(kRange)));
    REQUIRE(is_address(of_its_pool));
    CHECK_THAT(add_to_pool("p3"), Contains("by AddressRange"));
    CHECK(add_to_pool("p4", in_range(wanting(kRange, given.substr(0, given.find('/'))))) ==
          "requested address " + given.substr(0, given.find('/')) +
              " is held by the store that the range comes from: request another one, or delete its pod and run "
              "`rdmanet ipam migrate`");
}

TEST_CASE_METHOD(Crossed, "a requested address that another store still has is refused at once", "[moves]") {
    if (!is_there()) return;
    REQUIRE(add_to_pool("p1") == "10.0.0.1/26");
    REQUIRE(migrate_to("blocks") == "moved 10.0.0.1-10.0.0.1");
    REQUIRE(release_in_pool("p1") == "10.0.0.1/26");
    auto a = node("a");
    CHECK(add_to_block(*a, "b1", wanting(kRange, "10.0.0.1")) ==
          "requested address 10.0.0.1 is held by the store that the range comes from: request another one, or delete "
          "its pod and run `rdmanet ipam migrate`");
    REQUIRE(migrate_to("blocks") == "moved");
    CHECK(add_to_block(*a, "b1", wanting(kRange, "10.0.0.1")) == "10.0.0.1/26");
}

TEST_CASE_METHOD(Crossed,
                 "a block that is made while a range moves is never given from, and keeps no move from its end",
                 "[moves]") {
    if (!is_there()) return;
    auto a = node("a");
    REQUIRE(is_address(add_to_block(*a, "b1")));
    const std::string of_a = blocks();
    Relay relay("rdmanet");
    auto b = node_that_has_made_a_block(relay, *a);
    Relay of_migrate("admin");
    int changes = 0;
    of_migrate.decide(before([&](const std::string& request) { return is_change_of_range(request) && ++changes == 2; },
                             [&] { (void)add_to_block(*b, "b2"); }));
    const auto api = of_migrate.connect();
    CHECK_THAT(migrate_to("whereabouts", *api), StartsWith("moved 10."));
    CHECK(blocks() != of_a);
    CHECK_THAT(recorded(), StartsWith("blocks>whereabouts ["));
    relay.decide(nullptr);
    CHECK_THAT(add_to_block(*b, "b2"), Contains("has blocks>whereabouts") || Contains("has whereabouts"));
    CHECK(blocks() == of_a);
}

TEST_CASE_METHOD(Crossed, "a block that was made right before its range moved goes back, and that is no failure",
                 "[moves]") {
    if (!is_there()) return;
    auto a = node("a");
    REQUIRE(is_address(add_to_block(*a, "b1")));
    const std::string of_a = blocks();
    Relay relay("rdmanet");
    auto b = node_that_has_made_a_block(relay, *a);
    CHECK(!is_address(add_to_block(*b, "b2")));
    CHECK(blocks() != of_a);
    CHECK_THAT(migrate_to("whereabouts"), StartsWith("moved 10."));
    relay.decide(nullptr);
    b->start();
    b->store->settle(std::chrono::minutes(10), soon());
    b->store->settle(std::chrono::minutes(10), soon());
    CHECK(blocks() == of_a);
    CHECK(b->states().empty());
}

TEST_CASE_METHOD(Crossed, "a node that has not heard of a move is told that somebody has deleted the range",
                 "[moves]") {
    if (!is_there()) return;
    REQUIRE(add_to_pool("p1") == "10.0.0.1/26");
    REQUIRE(migrate_to("blocks") == "moved 10.0.0.1-10.0.0.1");
    auto a = node("a");
    REQUIRE(is_address(add_to_block(*a, "b1")));
    delete_object(path_of_range("10.0.0.0-26"));
    auto b = node("b");
    ipam::BlockRange known = a->file->ranges(soon()).front();
    known.held.clear();
    b->file->put_range(known, soon());
    CHECK_THAT(add_to_block(*b, "b2"), Contains("somebody has deleted AddressRange") && Contains("ipam migrate"));
}

TEST_CASE_METHOD(Crossed,
                 "a move that another command turns back says that, and not that the range is between two stores",
                 "[moves]") {
    if (!is_there()) return;
    REQUIRE(add_to_pool("p1") == "10.0.0.1/26");
    Relay relay("admin");
    int changes = 0;
    relay.decide(before([&](const std::string& request) { return is_change_of_range(request) && ++changes == 2; },
                        [&] { CHECK(migrate_to("whereabouts") == "moved"); }));
    const auto api = relay.connect();
    CHECK_THAT(migrate_to("blocks", *api), Contains("others move AddressRange") && Contains("run this command again") &&
                                               !Contains("between two stores"));
    CHECK(recorded() == "whereabouts");
}

TEST_CASE_METHOD(Crossed, "a range that comes to overlap while whereabouts is watched leaves the other as it was",
                 "[moves]") {
    if (!is_there()) return;
    REQUIRE(add_to_pool("p1") == "10.0.0.1/26");
    Relay relay("admin");
    relay.decide(before([](const std::string& request) { return request.find("dryRun=All") != std::string::npos; },
                        [&] { REQUIRE(is_address(add_to_pool("p2", claim("10.0.0.0/27")))); }));
    const auto api = relay.connect();
    CHECK_THAT(migrate_to("blocks", *api), Contains("overlaps range 10.0.0.0/27"));
    CHECK(recorded() == "whereaboutswhereabouts");
}

TEST_CASE_METHOD(Crossed, "a server whose definition of AddressRanges is an older one is refused before anything moves",
                 "[moves]") {
    if (!is_there()) return;
    REQUIRE(add_to_pool("p1") == "10.0.0.1/26");
    Relay relay("admin");
    relay.replace_answers([&](const std::string& request) -> std::optional<http::Response> {
        if (request.find("dryRun=All") == std::string::npos) return std::nullopt;
        return http::Response{.status = 200, .body = R"({"metadata":{},"spec":{"store":"whereabouts"}})"};
    });
    const auto api = relay.connect();
    MigrateOptions looks = options_to("blocks");
    looks.act = MigrateOptions::Act::only_looks;
    CHECK_THAT(migrate_by(looks, *api), Contains("does not keep \"held\"") && Contains("cluster-blocks.yaml"));
    CHECK_THAT(migrate_to("blocks", *api), Contains("does not keep \"held\""));
    CHECK(recorded() == "whereabouts");
}

TEST_CASE_METHOD(Crossed, "what keeps a range between two stores is named, with the way back", "[moves]") {
    if (!is_there()) return;
    REQUIRE(add_to_pool("p1") == "10.0.0.1/26");
    patch(path_of_pool("10.0.0.0-26"),
          R"([{"op":"add","path":"/spec/allocations/x","value":{"id":"y","podref":"z"}}])");
    const std::string refused = migrate_to("blocks");
    CHECK_THAT(refused, Contains("1 record that cannot be read") && Contains("between two stores") &&
                            Contains("\"whereabouts>blocks\"") && Contains("`--to whereabouts`"));
    CHECK(recorded() == "whereabouts>blocks unconfirmed");
    CHECK(migrate_to("whereabouts") == "moved");
    CHECK(add_to_pool("p2") == "10.0.0.2/26");
}

namespace {

/// It does not answer.
class SilentStore final : public OutsideStore {
public:
    [[nodiscard]] std::string name() const override { return "node"; }
    [[nodiscard]] bool has_range(const Place& /*place*/, const base::Deadline& /*deadline*/) override { return false; }
    void require_range(const Place& /*place*/, const std::string& /*object*/,
                       const base::Deadline& /*deadline*/) override {}
    void expect(const Place& /*place*/, const std::string& /*from*/, const base::Deadline& /*deadline*/) override {}
    [[nodiscard]] std::vector<ipam::Interval> take(const Moving& /*moving*/,
                                                   const base::Deadline& /*deadline*/) override {
        return {};
    }
    void leave_out(const Moving& /*moving*/, const std::vector<ipam::Interval>& /*held*/,
                   const base::Deadline& /*deadline*/) override {
        throw base::TimeoutError("waited for that store");
    }
    [[nodiscard]] std::vector<Holder> describe(const Place& /*place*/, const base::Deadline& /*deadline*/) override {
        return {};
    }
};

} // namespace

TEST_CASE_METHOD(Crossed, "a store that does not answer leaves a range between two stores, which is named, too",
                 "[moves]") {
    if (!is_there()) return;
    REQUIRE(add_to_pool("p1") == "10.0.0.1/26");
    SilentStore silent;
    MigrateOptions options = options_to("node");
    options.outside = {&silent};
    CHECK_THAT(migrate_by(options, *admin),
               Contains("waited for that store") && Contains("between two stores") && Contains("`--to whereabouts`"));
    CHECK(recorded().starts_with("whereabouts>node unconfirmed"));
    options.to = "whereabouts";
    CHECK(migrate_by(options, *admin) == "moved");
}

TEST_CASE_METHOD(Crossed, "blocks whose addresses other stores have, all of them, are not taken", "[moves]") {
    if (!is_there()) return;
    for (int at = 1; at <= 40; ++at) REQUIRE(is_address(add_to_pool("p" + std::to_string(at))));
    REQUIRE(migrate_to("blocks") == "moved 10.0.0.1-10.0.0.40");
    auto a = node("a");
    CHECK(fill(*a).size() == 22);
    CHECK_THAT(blocks(), !Contains("10.0.0.0/28") && !Contains("10.0.0.16/28"));
}

TEST_CASE_METHOD(Crossed, "a pool's mark that was decided in an earlier move comes too late", "[moves]") {
    if (!is_there()) return;
    Relay relay("rdmanet");
    const auto api = relay.connect();
    WhereaboutsStore store(*api, options_of_pools());
    REQUIRE(add_to_pool(store, "p1", claim(kRange)) == "10.0.0.1/26"); // from now on it knows the range
    REQUIRE(release_in_pool("p1") == "10.0.0.1/26");
    REQUIRE(migrate_to("blocks") == "moved");
    REQUIRE(migrate_to("whereabouts") == "moved");
    relay.decide([](const std::string& request) { // it takes the mark away
        return request.starts_with("PATCH " + kPoolsOfMoves) ? Fate::comes_late : Fate::passes;
    });
    CHECK(!is_address(add_to_pool(store, "p2", claim(kRange))));
    relay.decide(nullptr);
    REQUIRE(migrate_to("blocks") == "moved");
    auto a = node("a");
    const std::set<std::string> given = fill(*a);
    for (const unsigned status : relay.deliver()) CHECK(status != 200);
    CHECK_THAT(add_to_pool(store, "p2", claim(kRange)), Contains("has blocks"));
}

TEST_CASE_METHOD(Crossed,
                 "a range of pools that is recorded while a range with its addresses moves to blocks is not confirmed",
                 "[moves]") {
    if (!is_there()) return;
    const std::string part = "10.0.0.0/27";
    REQUIRE(add_to_pool("p1") == "10.0.0.1/26");
    Relay relay("admin");
    relay.decide(before(
        [](const std::string& request) {
            return request.ends_with(std::string("10.0.0.0-27")) && is_change_of_range(request);
        },
        [&] { CHECK(migrate_to("blocks") == "moved 10.0.0.1-10.0.0.1"); }));
    const auto api = relay.connect();
    WhereaboutsStore::Options own = options({part});
    own.before_claim = nullptr;
    WhereaboutsStore slow(*api, std::move(own));
    CHECK_THAT(add_to_pool(slow, "p2", claim(part)), Contains("try again"));
    CHECK_THAT(add_to_pool(slow, "p2", claim(part)), Contains("overlaps range"));
    CHECK(ranges() == "10.0.0.0/26");
    auto a = node("a");
    CHECK(is_address(add_to_block(*a, "b1")));
}
