// Connections that break while requests are on their way.
#include "by_proxy.hpp"
#include "relay.hpp"
#include "subnet.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;

namespace {

class CutSubnet : public Subnet {
public:
    /// What reserve() says, or that it gave up in a way that is worth another try.
    [[nodiscard]] std::string reserve_by(WhereaboutsStore& broken, const ipam::Owner& who) const {
        try {
            return text_of(broken.reserve(who, {claim(kRange)}, soon()));
        } catch (const ipam::StoreError& error) {
            return error.temporary() ? "try again" : error.what();
        }
    }
    [[nodiscard]] static std::string release_by(WhereaboutsStore& broken, const ipam::Owner& who) {
        try {
            return text_of(broken.release(who.key, soon()));
        } catch (const ipam::StoreError& error) {
            return error.temporary() ? "try again" : error.what();
        }
    }

    const std::string kNoRecord = R"({"allocations":{},"range":"10.0.0.0/29"})";
};

} // namespace

TEST_CASE_METHOD(CutSubnet, "a connection that ends at any byte of requests and answers costs no address") {
    Traffic traffic;
    {
        const TcpProxy proxy(server_port());
        const auto by_proxy = connect_by(proxy);
        WhereaboutsStore whole(*by_proxy, options({kRange}));
        REQUIRE(reserve_by(whole, owner("whole", "p")) == "10.0.0.1/29");
        traffic = {.requests = proxy.bytes_of_requests(), .answers = proxy.bytes_of_answers()};
    }
    REQUIRE(release(owner("whole", "p")) == "10.0.0.1/29");
    int given = 0;
    cut_at_each(traffic, 8, [&](const TcpProxy& proxy, const std::string& where) {
        INFO(where);
        const auto by_proxy = connect_by(proxy);
        WhereaboutsStore broken(*by_proxy, options({kRange}));
        const std::string outcome = reserve_by(broken, owner("c", "p"));
        if (outcome == "10.0.0.1/29") {
            ++given;
            CHECK(pool() ==
                  R"({"allocations":{"1":{"id":"c","ifname":"net1","podref":"default/p"}},"range":"10.0.0.0/29"})");
            CHECK(reservation("10.0.0.1") == R"({"ifname":"net1","podref":"default/p"})");
        } else {
            CHECK(outcome == "try again");
        }
        (void)release(owner("c", "p"));
        CHECK(pool() == kNoRecord);
        CHECK(reservation("10.0.0.1").empty());
    });
    CHECK(given > 0);
}

TEST_CASE_METHOD(CutSubnet, "a DEL whose connection ends at any byte says so, or has left nothing") {
    REQUIRE(reserve(owner("c", "p"), {claim(kRange)}) == "10.0.0.1/29");
    Traffic traffic;
    {
        const TcpProxy proxy(server_port());
        const auto by_proxy = connect_by(proxy);
        WhereaboutsStore whole(*by_proxy, options({kRange}));
        REQUIRE(release_by(whole, owner("c", "p")) == "10.0.0.1/29");
        traffic = {.requests = proxy.bytes_of_requests(), .answers = proxy.bytes_of_answers()};
    }
    int released = 0;
    cut_at_each(traffic, 8, [&](const TcpProxy& proxy, const std::string& where) {
        INFO(where);
        REQUIRE(reserve(owner("c", "p"), {claim(kRange)}) == "10.0.0.1/29");
        const auto by_proxy = connect_by(proxy);
        WhereaboutsStore broken(*by_proxy, options({kRange}));
        const std::string outcome = release_by(broken, owner("c", "p"));
        if (outcome == "10.0.0.1/29")
            ++released;
        else {
            CHECK(outcome == "try again");
            (void)release(owner("c", "p"));
        }
        CHECK(pool() == kNoRecord);
        CHECK(reservation("10.0.0.1").empty());
    });
    CHECK(released > 0);
}

TEST_CASE_METHOD(CutSubnet, "a claim that is carried out when nobody waits for it any more is found by its owner") {
    (void)release(owner("first", "p")); // makes nothing; the pool is made by the next line
    REQUIRE(reserve(owner("first", "p"), {claim(kRange)}) == "10.0.0.1/29");
    REQUIRE(release(owner("first", "p")) == "10.0.0.1/29");
    const int piece = GENERATE(1, 2); // the PATCH of the pool, the POST of the reservation
    TcpProxy proxy(server_port());
    const auto by_proxy = connect_by(proxy);
    WhereaboutsStore::Options late_options = options({kRange});
    late_options.before_claim = [&](const ipam::Lease&) { proxy.hang_up_at_piece(piece); };
    WhereaboutsStore late(*by_proxy, late_options);
    CHECK(reserve_by(late, owner("late", "p")) == "try again");
    REQUIRE(text_of(late.unsettled()) == "10.0.0.1/29");

    CHECK(release(owner("late", "p")) == (piece == 1 ? "" : "10.0.0.1/29")); // too early
    CHECK(pool() == kNoRecord);
    proxy.let_go();
    REQUIRE(comes_true([&] { return piece == 1 ? pool() != kNoRecord : !reservation("10.0.0.1").empty(); }));

    WhereaboutsStore::Options again = options({kRange});
    for (const ipam::Lease& lease : late.unsettled()) again.also.emplace_back(lease.space, lease.address.address());
    WhereaboutsStore later(*api, again);
    CHECK(text_of(later.release(owner("late", "p").key, soon())) == (piece == 1 ? "10.0.0.1/29" : ""));
    CHECK(pool() == kNoRecord);
    CHECK(reservation("10.0.0.1").empty());
}

TEST_CASE_METHOD(CutSubnet, "a reservation of another container is not taken for one of a lost request") {
    REQUIRE(reserve(owner("other", "p"), {claim(kRange)}) == "10.0.0.1/29");
    WhereaboutsStore::Options again = options({kRange});
    again.also.emplace_back(space, ip("10.0.0.1"));
    WhereaboutsStore later(*api, again);
    CHECK(later.release(owner("late", "p").key, soon()).empty());
    CHECK_FALSE(reservation("10.0.0.1").empty());
}

TEST_CASE_METHOD(Subnet,
                 "an ADD that was killed before it had its reservation does not take one that says no container") {
    Relay relay("rdmanet");
    const auto by_relay = relay.connect();
    relay.decide([made = false](const std::string& request) mutable { // the pool, then its record, then nothing
        if (request.starts_with(std::string("PATCH ") + kObjects + "ippools"))
            return std::exchange(made, true) ? Fate::is_lost : Fate::passes;
        return made ? Fate::is_lost : Fate::passes;
    });
    WhereaboutsStore killed(*by_relay, options({kRange}));
    CHECK_THROWS_AS(killed.reserve(owner("late", "p"), {claim(kRange)}, base::Deadline::in(3s)), base::Error);
    // whereabouts has the address for an earlier container of the pod, in a pool over the same addresses.
    const std::string theirs = R"({"ifname":"net1","podref":"default/p"})";
    make_reservation("10.0.0.1");
    WhereaboutsStore::Options again = options({kRange});
    again.has_open_claim = true;
    WhereaboutsStore later(*api, again);
    SECTION("in its DEL") {
        CHECK(text_of(later.release(owner("late", "p").key, soon())) == "10.0.0.1/29");
    }
    SECTION("in the next ADD, which takes another address") {
        CHECK(text_of(later.reserve(owner("late", "p"), {claim(kRange)}, soon())) == "10.0.0.2/29");
        CHECK(text_of(later.release(owner("late", "p").key, soon())) == "10.0.0.2/29");
    }
    CHECK(reservation("10.0.0.1") == theirs);
    CHECK(pool() == R"({"allocations":{},"range":"10.0.0.0/29"})");
}

TEST_CASE_METHOD(Subnet, "an ADD that is killed while it inherits an address leaves nothing that nobody gives back") {
    REQUIRE(reserve(owner("old", "p"), {claim(kRange)}) == "10.0.0.1/29");
    const int answered = GENERATE(0, 1, 2, 3);
    const auto last = GENERATE(cluster::test::Fate::is_lost, cluster::test::Fate::loses_its_answer);
    Relay relay("rdmanet");
    const auto by_relay = relay.connect();
    WhereaboutsStore::Options own = options({kRange});
    WhereaboutsStore::Options again = options({kRange});
    own.before_inheritance = [&](const ipam::Lease& lease) { // as the journal
        again.also.emplace_back(lease.space, lease.address.address());
    };
    WhereaboutsStore killed(*by_relay, own);
    const auto left = killed.find_predecessors(owner("new", "p"), soon());
    REQUIRE(text_of(left) == "10.0.0.1/29");
    relay.decide([=, seen = 0](const std::string&) mutable {
        ++seen;
        return seen <= answered       ? cluster::test::Fate::passes
               : seen == answered + 1 ? last
                                      : cluster::test::Fate::is_lost;
    });
    try {
        (void)killed.adopt(left, owner("new", "p"), soon());
    } catch (const ipam::StoreError& error) {
        CHECK(error.temporary());
    }
    WhereaboutsStore later(*api, again);
    SECTION("to the next ADD, which inherits it") {
        const auto still_left = later.find_predecessors(owner("new", "p"), soon());
        (void)later.adopt(still_left, owner("new", "p"), soon());
        CHECK(text_of(later.reserve(owner("new", "p"), {claim(kRange)}, soon())) == "10.0.0.1/29");
        CHECK(reservation("10.0.0.1") == R"({"ifname":"net1","podref":"default/p"})");
    }
    SECTION("to DEL"){}(void)later.release(owner("new", "p").key, soon());
    (void)later.release(owner("old", "p").key, soon());
    CHECK(pool() == R"({"allocations":{},"range":"10.0.0.0/29"})");
    CHECK(reservation("10.0.0.1").empty());
}
