// `rdmanet ipam check --repair`: what living attachments lack in the stores of a cluster is made again, unless somebody
// else has it by now.
#include "blocks_fixture.hpp"
#include "relay.hpp"
#include "role.hpp"
#include "subnet.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;

namespace {

/// What was made, or why it was refused; empty if nothing was missing.
std::string regain(ipam::Store& store, const ipam::Lease& lease) {
    const auto all = store.regain({lease}, soon());
    REQUIRE(all.size() == 1);
    std::string text;
    for (const std::string& made : all.front().made) text += (text.empty() ? "" : ", ") + made;
    if (all.front().refused.empty()) return text;
    CHECK(text.empty());
    return "refused: " + all.front().refused;
}

ipam::Lease granted_to(ipam::Store& store, const ipam::Owner& who, const ipam::Claim& claim) {
    return std::get<ipam::Granted>(store.reserve(who, {claim}, soon())).leases.at(0);
}

class PoolsToRepair : public Subnet {
public:
    [[nodiscard]] std::string pool_name() const { return space + "-10.0.0.0-29"; }
    [[nodiscard]] std::string of_reservation() const { return space + "-10.0.0.1"; }
    void remove_pool() { delete_object(path_of_pool(kRange)); }
    void remove_record() { patch(path_of_pool(kRange), R"([{"op":"remove","path":"/spec/allocations/1"}])"); }
    void remove_reservation() {
        delete_object(std::string(kObjects) + "overlappingrangeipreservations/" + of_reservation());
    }

    const std::string kRecord =
        R"({"allocations":{"1":{"id":"a","ifname":"net1","podref":"default/p"}},"range":"10.0.0.0/29"})";
    const std::string kReservation = R"({"ifname":"net1","podref":"default/p"})";
};

} // namespace

TEST_CASE_METHOD(PoolsToRepair,
                 "a pool, a record and a reservation that somebody deleted are made again for who uses them") {
    const ipam::Lease lease = granted_to(*store, owner("a", "p"), claim(kRange));
    CHECK(regain(*store, lease).empty());
    const std::string record = "its record in IPPool " + pool_name();
    const std::string reserved = "OverlappingRangeIPReservation " + of_reservation();
    SECTION("the record") {
        remove_record();
        CHECK(regain(*store, lease) == record);
    }
    SECTION("the reservation") {
        remove_reservation();
        CHECK(regain(*store, lease) == reserved);
    }
    SECTION("all") {
        remove_pool();
        remove_reservation();
        claimed.clear();
        CHECK(regain(*store, lease) == record + ", " + reserved);
        CHECK(claimed == std::vector<std::string>{"10.0.0.1/29"}); // written down before it was sent
    }
    CHECK(pool() == kRecord);
    CHECK(reservation("10.0.0.1") == kReservation);
    CHECK(regain(*store, lease).empty());
    CHECK(release(owner("a", "p")) == "10.0.0.1/29");
}

TEST_CASE_METHOD(PoolsToRepair, "what somebody else has by now is not taken back from him") {
    const ipam::Lease lease = granted_to(*store, owner("a", "p"), claim(kRange));
    remove_record();
    SECTION("in the same pool") {
        remove_reservation();
        CHECK(reserve(owner("b", "other"), {claim(kRange)}) == "10.0.0.1/29");
        const std::string before = pool();
        CHECK_THAT(regain(*store, lease),
                   Contains("refused: ") && Contains("default/other") && Contains("delete the pod"));
        CHECK(pool() == before);
    }
    SECTION("in a pool that overlaps") {
        remove_reservation();
        WhereaboutsStore wider(*api, options({"10.0.0.0/24"}));
        REQUIRE(text_of(wider.reserve(owner("w", "wide"), {claim("10.0.0.0/24")}, soon())) == "10.0.0.1/24");
        CHECK_THAT(regain(*store, lease),
                   Contains("refused: ") && Contains("default/wide") && Contains("delete the pod"));
        CHECK(pool() == R"({"allocations":{},"range":"10.0.0.0/29"})"); // and nothing of the try is left
    }
    SECTION("by whereabouts, which writes no container") {
        remove_reservation();
        make_reservation("10.0.0.1");
        CHECK_THAT(regain(*store, lease), Contains("refused: "));
        CHECK(pool() == R"({"allocations":{},"range":"10.0.0.0/29"})");
    }
    SECTION("by the blocks of its range") {
        remove_pool();
        declare(kRange);
        WhereaboutsStore fresh(*api, options({kRange}));
        CHECK_THAT(regain(fresh, lease),
                   Contains("refused: ") && Contains("covers it by now") && Contains("delete the pod"));
        CHECK(pool() == R"({"allocations":{},"range":"10.0.0.0/29"})");
    }
}

TEST_CASE_METHOD(PoolsToRepair,
                 "a record stays while its pod lives, also if another range's pod has the address by now") {
    const ipam::Lease lease = granted_to(*store, owner("a", "p"), claim(kRange));
    remove_reservation();
    WhereaboutsStore wider(*api, options({"10.0.0.0/24"}));
    REQUIRE(text_of(wider.reserve(owner("w", "wide"), {claim("10.0.0.0/24")}, soon())) == "10.0.0.1/24");
    CHECK_THAT(regain(*store, lease), Contains("refused: ") && Contains("default/wide"));
    CHECK(pool() == kRecord);
}

TEST_CASE_METHOD(PoolsToRepair, "a repair whose answer is lost finds out what became of it") {
    const ipam::Lease lease = granted_to(*store, owner("a", "p"), claim(kRange));
    remove_record();
    remove_reservation();
    Relay relay("rdmanet");
    const auto by_relay = relay.connect();
    WhereaboutsStore lossy(*by_relay, options({kRange}));
    const auto fate = GENERATE(Fate::is_lost, Fate::loses_its_answer);
    relay.decide_next_change(fate);
    CHECK_THAT(regain(lossy, lease), Contains("its record in IPPool") && Contains("OverlappingRangeIPReservation"));
    CHECK(text_of(lossy.unsettled()) == "10.0.0.1/29"); // which is looked at again after a minute
    CHECK(pool() == kRecord);
    CHECK(reservation("10.0.0.1") == kReservation);
}

TEST_CASE_METHOD(PoolsToRepair, "a repair names each right that it lacks") {
    const ipam::Lease lease = granted_to(*store, owner("a", "p"), claim(kRange));
    const auto limited = connect("limited");
    const std::vector<Right> rights = {{"whereabouts.cni.cncf.io", "ippools", "get"},
                                       {"whereabouts.cni.cncf.io", "ippools", "create"},
                                       {"whereabouts.cni.cncf.io", "ippools", "patch"},
                                       {"whereabouts.cni.cncf.io", "overlappingrangeipreservations", "get"},
                                       {"whereabouts.cni.cncf.io", "overlappingrangeipreservations", "create"},
                                       {"rdmanet.cni", "addressranges", "list"},
                                       {"rdmanet.cni", "addressblocks", "list"}};
    check_each_right(*admin, rights, [&]() -> std::string {
        remove_pool();
        WhereaboutsStore limited_store(*limited, options({kRange}));
        try {
            const std::string made = regain(limited_store, lease);
            return made.starts_with("its record") ? std::string() : made;
        } catch (const ipam::StoreError& error) {
            (void)regain(*store, lease);
            return error.what();
        }
    });
}

TEST_CASE_METHOD(BlocksFixture,
                 "a block that somebody deleted is created again for who uses it, unless it is another's") {
    declare(kRange);
    auto a = node("a");
    auto b = node("b");
    const ipam::Lease lease = granted_to(*a->store, owner("c", "pod-c"), claim(kRange));
    const auto repair = [&] {
        a->store = std::make_unique<BlocksStore>(a->file, a->options());
        return regain(*a->store, lease);
    };
    CHECK(repair().empty());
    const std::string block = a->block().prefix.to_string();
    const std::string name = "AddressBlock " + space + "-" + with_dashes(block);
    SECTION("the object") {
        delete_block(block);
        CHECK(repair() == name);
    }
    SECTION("the lease in the node's file") {
        CHECK(a->release("c") != "");
        CHECK(repair() == "its lease");
    }
    SECTION("the node's file, and the journal has the lease") {
        a->journal = {lease};
        a->lose_state();
        CHECK(repair() == name);
    }
    SECTION("the object and the node's file") {
        delete_block(block);
        a->journal = {lease};
        a->lose_state();
        CHECK(repair() == name);
    }
    SECTION("the block is another node's by now") {
        delete_block(block);
        const std::string same = lease.address.address().to_string();
        REQUIRE(b->reserve("other", {wanting(kRange, same)}) == lease.address.to_string());
        CHECK_THAT(repair(), Contains("refused: ") && Contains("\"" + b->name() + "\"") && Contains("delete the pod"));
        CHECK(blocks() == block + " b");
        return;
    }
    CHECK(blocks() == block + " a");
    CHECK(text_of(a->store->find(owner("c", "pod-c").key, soon())) == lease.address.to_string());
    CHECK(repair().empty());
    CHECK(a->reserve("d", {claim(kRange)}) != lease.address.to_string());
}
