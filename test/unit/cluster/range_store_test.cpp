// Stores "whereabouts" and "blocks" never give the addresses of one range both, whoever comes first.
#include "blocks_fixture.hpp"
#include "relay.hpp"
#include "role.hpp"

#include "blocks/objects.hpp"
#include "whereabouts_api.hpp"

#include <rdmanet/cluster/recorded_store.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <thread>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;

namespace {

const std::string kPoolsPath = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/ippools/";
const std::string kDefinitionOfRanges =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/addressranges.rdmanet.cni";

const std::vector<Right> kRightsOfWhereabouts{{"whereabouts.cni.cncf.io", "ippools", "get"},
                                              {"whereabouts.cni.cncf.io", "ippools", "list"},
                                              {"whereabouts.cni.cncf.io", "ippools", "create"},
                                              {"whereabouts.cni.cncf.io", "ippools", "patch"},
                                              {"whereabouts.cni.cncf.io", "overlappingrangeipreservations", "get"},
                                              {"whereabouts.cni.cncf.io", "overlappingrangeipreservations", "create"},
                                              {"whereabouts.cni.cncf.io", "overlappingrangeipreservations", "delete"}};

class Ranges : public BlocksFixture {
public:
    const std::string kRange = "10.0.0.0/24";

    /// One ADD of a node that keeps leases in pools: the address, or the error.
    std::string add_to_pool(kube::Api& api, const std::string& container, const std::string& range,
                            const std::string& state_directory = {}) {
        WhereaboutsStore::Options own = options({range});
        own.before_claim = nullptr;
        own.state_directory = state_directory;
        own.node.name = "pools";
        own.warn = [this](const std::string& text) { warnings.push_back(text); };
        WhereaboutsStore store(api, own);
        try {
            return text_of(store.reserve(owner(container, "pod-" + container), {claim(range)}, soon()));
        } catch (const base::Error& error) {
            return error.what();
        }
    }
    std::string add_to_pool(const std::string& container, const std::string& range) {
        const auto api = connect();
        return add_to_pool(*api, container, range);
    }
    void give_back(const std::string& container, const std::string& range) {
        WhereaboutsStore(*admin, options({range})).release(owner(container, "pod-" + container).key, soon());
    }
    static std::string add_to_block(TestNode& node, const std::string& container, const ipam::Claim& claim) {
        node.start();
        try {
            const auto outcome = node.store->reserve(owner(container, "pod-" + container), {claim}, soon());
            const auto* none = std::get_if<ipam::Exhausted>(&outcome);
            return none != nullptr && none->refusal ? none->refusal->what() : text_of(outcome);
        } catch (const base::Error& error) {
            return error.what();
        }
    }
    /// "RANGE STORE" of each AddressRange of the space.
    std::string recorded() {
        std::string text;
        const auto outcome = admin->get(kRangesPath, soon());
        for (const json::Reader& object : std::get<kube::Object>(outcome).content.root().at("items").elements()) {
            const json::Reader spec = object.at("spec");
            if (spec.at("space").string() != space) continue;
            text += (text.empty() ? "" : ", ") + spec.at("range").string() + " " + spec.at("store").string();
            if (!spec.at("confirmed").boolean()) text += " unconfirmed";
        }
        return text;
    }
    std::string mark_of(const std::string& pool) {
        const auto outcome = admin->get(kPoolsPath + space + "-" + pool, soon());
        const auto* object = std::get_if<kube::Object>(&outcome);
        if (object == nullptr) return "absent";
        const auto annotations = object->content.root().at("metadata").find("annotations");
        return annotations ? annotations->to_text() : "none";
    }
    void make_range(const std::string& range, const std::string& store, bool is_confirmed) {
        RangeObject object{.space = space, .subnet = prefix(range), .store = store};
        if (store == kInBlocks) object.block_size = 16;
        object.is_confirmed = is_confirmed;
        const auto made = admin->create(kRangesPath, object.to_text(), soon());
        REQUIRE(std::holds_alternative<kube::Object>(made));
    }

    void make_pool_of_whereabouts(const std::string& name, const std::string& range) {
        create(kPoolsPath.substr(0, kPoolsPath.size() - 1),
               R"({"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":{"name":")" + space +
                   "-" + name + R"("},"spec":{"range":")" + range +
                   R"(","allocations":{"9":{"id":"old","podref":"ns/pod-old","ifname":"net1"}}}})");
    }

    std::vector<std::string> warnings;
};

bool is_address(const std::string& outcome) {
    return outcome.size() < 20 && outcome.find('/') != std::string::npos;
}

} // namespace

TEST_CASE_METHOD(Ranges, "the store that has a range first keeps it, and the other is refused with both names") {
    if (!is_there()) return;
    auto a = node("a");
    SECTION("pools first") {
        CHECK(add_to_pool("c", kRange) == "10.0.0.1/24");
        CHECK(recorded() == "10.0.0.0/24 whereabouts");
        give_back("c", kRange); // an empty pool is still a pool
        CHECK_THAT(add_to_block(*a, "d", claim(kRange)), Contains("\"store\" blocks") &&
                                                             Contains("AddressRange " + space + "-10.0.0.0-24") &&
                                                             Contains("has whereabouts"));
        CHECK_THAT(add_to_block(*a, "d", claim("10.0.0.0/20")),
                   Contains("10.0.0.0/20 overlaps range 10.0.0.0/24") && Contains("in store \"whereabouts\""));
        CHECK(blocks().empty());
        CHECK(recorded() == "10.0.0.0/24 whereabouts");
    }
    SECTION("blocks first") {
        CHECK(is_address(add_to_block(*a, "d", claim(kRange))));
        CHECK_THAT(add_to_pool("c", kRange), Contains("\"store\" whereabouts") &&
                                                 Contains("AddressRange " + space + "-10.0.0.0-24") &&
                                                 Contains("has blocks"));
        CHECK_THAT(add_to_pool("c", "10.0.0.0/26"),
                   Contains("10.0.0.0/26 overlaps range 10.0.0.0/24") && Contains("in store \"blocks\""));
        CHECK(recorded() == "10.0.0.0/24 blocks");
    }
}

TEST_CASE_METHOD(Ranges, "pools of one space may overlap, as whereabouts allows it") {
    if (!is_there()) return;
    CHECK(add_to_pool("c", kRange) == "10.0.0.1/24");
    CHECK(add_to_pool("d", "10.0.0.0/28") == "10.0.0.2/28");
    CHECK_THAT(recorded(), Contains("10.0.0.0/24 whereabouts") && Contains("10.0.0.0/28 whereabouts"));
}

TEST_CASE_METHOD(Ranges, "nodes that claim a range for different stores at once: one store gets it") {
    if (!is_there()) return;
    for (int round = 0; round < 4; ++round) {
        space = own_space();
        constexpr int kNodes = 3;
        std::vector<std::unique_ptr<TestNode>> of_blocks;
        for (int number = 0; number < kNodes; ++number) of_blocks.push_back(node("n" + std::to_string(number)));
        std::vector<std::string> in_blocks(kNodes);
        std::vector<std::string> in_pools(kNodes);
        std::vector<std::thread> threads;
        for (int at = 0; at < kNodes; ++at) {
            const auto place = static_cast<std::size_t>(at);
            const std::string wide = round % 2 == 0 ? kRange : "10.0.0.0/16";
            threads.emplace_back(
                [&, place, wide] { in_blocks[place] = add_to_block(*of_blocks[place], "b", claim(wide)); });
            threads.emplace_back([&, place] { in_pools[place] = add_to_pool("p" + std::to_string(place), kRange); });
        }
        for (std::thread& thread : threads) thread.join();
        std::string all;
        for (const auto* outcomes : {&in_blocks, &in_pools})
            for (const std::string& outcome : *outcomes) all += outcome + "\n";
        INFO(all << recorded());
        const bool is_in_blocks = std::any_of(in_blocks.begin(), in_blocks.end(), is_address);
        const bool is_in_pools = std::any_of(in_pools.begin(), in_pools.end(), is_address);
        CHECK(is_in_blocks != is_in_pools);
        CHECK(recorded().find(',') == std::string::npos);
    }
}

TEST_CASE_METHOD(Ranges, "a node that may not read AddressRanges obeys the marks of pools, and begins no pool") {
    if (!is_there()) return;
    // As the kubeconfig of whereabouts.
    const Role role(*admin, kRightsOfWhereabouts);
    const auto limited = connect("limited");
    const ipam::test::TemporaryDirectory directory;
    auto a = node("a");
    std::string first;
    CHECK(comes_true([&] {
        first = add_to_pool(*limited, "c", kRange, directory.path());
        return first.find("addressranges") != std::string::npos;
    }));
    CHECK_THAT(first, Contains("range 10.0.0.0/24 has no leases yet") &&
                          Contains("cannot get resource \"addressranges\"") && Contains("grant that right"));
    CHECK(add_to_pool("b", kRange) == "10.0.0.1/24");
    CHECK(add_to_pool(*limited, "c", kRange, directory.path()) == "10.0.0.2/24");
    CHECK_THAT(warnings.back(), Contains("cannot get resource \"addressranges\"") && Contains("grant that right"));
    const std::size_t warned = warnings.size();
    give_back("b", kRange);
    give_back("c", kRange);
    CHECK(add_to_pool(*limited, "d", kRange, directory.path()) == "10.0.0.1/24"); // it has asked once
    CHECK(warnings.size() == warned);                                             // once for each boot and pool
    give_back("d", kRange);
    delete_range("10.0.0.0-24");
    CHECK(is_address(add_to_block(*a, "e", claim("10.0.0.0/20"))));
    CHECK_THAT(mark_of("10.0.0.0-24"), Contains("\"blocks\""));
    CHECK_THAT(add_to_pool(*limited, "f", kRange, directory.path()),
               Contains("IPPool " + space + "-10.0.0.0-24") && Contains("in store \"blocks\""));
    CHECK_THAT(add_to_pool(*limited, "f", "10.0.0.0/22", directory.path()),
               Contains("range 10.0.0.0/22") && Contains("in store \"blocks\""));
    // A claim that was on its way when the mark was written.
    WhereaboutsApi objects(*limited, "kube-system");
    const Place place{.space = space, .subnet = prefix(kRange)};
    auto seen = objects.find_pool(place, soon());
    REQUIRE(seen);
    seen->mark.clear();
    CHECK(objects.take(place, *seen, "5", owner("f", "f"), soon()) == Written::no);
    seen->has_annotations = false;
    CHECK(objects.take(place, *seen, "5", owner("f", "f"), soon()) == Written::no);
}

TEST_CASE_METHOD(Ranges, "a node without the right, and blocks, at once: one of them gets the range") {
    if (!is_there()) return;
    const Role role(*admin, kRightsOfWhereabouts);
    const auto limited = connect("limited");
    CHECK(comes_true(
        [&] { return add_to_pool(*limited, "c", "10.99.0.0/24").find("addressranges") != std::string::npos; }));
    for (int round = 0; round < 4; ++round) {
        space = own_space();
        auto a = node("a");
        make_pool_of_whereabouts("10.0.0.0-24", kRange);
        std::string in_blocks;
        std::string in_pools;
        std::thread other([&] { in_blocks = add_to_block(*a, "b", claim(round % 2 == 0 ? kRange : "10.0.0.0/16")); });
        std::thread leaving([&] { give_back("old", kRange); });
        in_pools = add_to_pool(*limited, "p", kRange);
        leaving.join();
        other.join();
        INFO(in_blocks << "\n" << in_pools);
        CHECK(!(is_address(in_blocks) && is_address(in_pools)));
    }
}

TEST_CASE_METHOD(Ranges, "without our kinds of objects in the cluster, pools need nothing of them") {
    if (!is_there()) return;
    const auto serve = [&](const std::string& is_served) {
        patch(kDefinitionOfRanges, R"([{"op":"replace","path":"/spec/versions/0/served","value":)" + is_served + "}]");
        CHECK(comes_true([&] {
            return std::holds_alternative<kube::Object>(admin->get(kRangesPath, soon())) == (is_served == "true");
        }));
    };
    serve("false");
    const std::string given = add_to_pool("c", kRange);
    serve("true");
    CHECK(given == "10.0.0.1/24");
    CHECK(recorded().empty());
    auto a = node("a");
    CHECK_THAT(add_to_block(*a, "d", claim(kRange)), Contains("1 lease in whereabouts' IPPool"));
}

TEST_CASE_METHOD(Ranges, "a warm ADD asks nothing about its range") {
    if (!is_there()) return;
    Relay relay("rdmanet");
    const ipam::test::TemporaryDirectory directory;
    const auto api = relay.connect();
    CHECK(add_to_pool(*api, "c", kRange, directory.path()) == "10.0.0.1/24");
    (void)relay.take_requests();
    CHECK(add_to_pool(*api, "d", kRange, directory.path()) == "10.0.0.2/24");
    CHECK(relay.take_requests().size() == 3);
    // A pool that was made anew may have another store's mark behind it: the cluster is asked again.
    give_back("c", kRange);
    give_back("d", kRange);
    const auto pool = admin->get(kPoolsPath + space + "-10.0.0.0-24", soon());
    const std::string uid = std::get<kube::Object>(pool).content.root().at("metadata").at("uid").string();
    REQUIRE(std::holds_alternative<kube::Object>(
        admin->remove(kPoolsPath + space + "-10.0.0.0-24", {.uid = uid, .resource_version = {}}, soon())));
    CHECK(add_to_pool(*api, "e", kRange, directory.path()) == "10.0.0.1/24");
    const auto requests = relay.take_requests();
    CHECK(std::any_of(requests.begin(), requests.end(),
                      [](const std::string& request) { return request.find("addressranges") != std::string::npos; }));
}

TEST_CASE_METHOD(Ranges, "a mark that blocks have left behind goes when the cluster has the range for pools") {
    if (!is_there()) return;
    auto a = node("a");
    CHECK(is_address(add_to_block(*a, "d", claim(kRange))));
    CHECK_THAT(mark_of("10.0.0.0-24"), Contains("blocks"));
    // An administrator has removed all of it.
    const std::string block = a->file->blocks(soon()).front().prefix.network().to_string() + "-28";
    delete_range("10.0.0.0-24");
    CHECK_THAT(add_to_pool("c", kRange), Contains("AddressBlock " + space + "-" + block));
    CHECK(recorded().empty());
    delete_block(block);
    CHECK(add_to_pool("c", kRange) == "10.0.0.1/24");
    CHECK(mark_of("10.0.0.0-24") == "none");
    CHECK(recorded() == "10.0.0.0/24 whereabouts");
}

TEST_CASE_METHOD(Ranges, "blocks of a range that pools have by now are left alone after a reboot") {
    if (!is_there()) return;
    auto a = node("a");
    CHECK(is_address(add_to_block(*a, "d", claim(kRange))));
    delete_range("10.0.0.0-24");
    make_range(kRange, kInPools, true);
    CHECK(add_to_pool("c", kRange) == "10.0.0.1/24");
    report_boot(a->name(), "second");
    a->reboot("second");
    CHECK(is_address(add_to_block(*a, "e", claim("10.9.0.0/24"))));
    CHECK_THAT(a->states(), !Contains("10.0.0."));
    CHECK_THAT(add_to_block(*a, "f", claim(kRange)), Contains("has whereabouts"));
}

TEST_CASE_METHOD(Ranges, "a range is not cut anew while blocks of an earlier cut are there") {
    if (!is_there()) return;
    auto a = node("a");
    CHECK(is_address(add_to_block(*a, "d", claim(kRange))));
    delete_range("10.0.0.0-24");
    auto b = node("b");
    b->block_size = 32;
    CHECK_THAT(add_to_block(*b, "e", claim(kRange)), Contains("AddressBlock " + space + "-10.0.0."));
    auto c = node("c");
    CHECK_THAT(add_to_block(*c, "f", claim("10.0.0.0/20")), Contains("AddressBlock " + space + "-10.0.0."));
    CHECK(recorded().empty());
    CHECK(is_address(add_to_block(*c, "f", claim(kRange)))); // the cut that they are of
}

TEST_CASE_METHOD(Ranges,
                 "a mark stays while a range of blocks has the pool, also if its network calls addresses otherwise") {
    if (!is_there()) return;
    auto a = node("a");
    const std::string network = space;
    CHECK(is_address(add_to_block(*a, "d", claim(kRange))));
    space = network + "@" + kRange; // enable_overlapping_ranges: false
    CHECK_THAT(add_to_pool("c", kRange), Contains("AddressRange " + network + "-10.0.0.0-24") &&
                                             Contains("IPPool " + network + "-10.0.0.0-24") &&
                                             Contains("in store \"blocks\""));
    CHECK(recorded().empty());
    space = network;
    CHECK_THAT(mark_of("10.0.0.0-24"), Contains("blocks"));
}

TEST_CASE_METHOD(Ranges, "a node that waits for a range's maker obeys what is recorded by then") {
    if (!is_there()) return;
    make_range(kRange, kInBlocks, false);
    Relay relay("rdmanet");
    const auto a = node_behind(relay, "a");
    int looks = 0;
    relay.decide([&](const std::string& request) {
        if (request == "GET " + path_of_range("10.0.0.0-24") && ++looks == 2) {
            delete_object(path_of_range("10.0.0.0-24"));
            make_range(kRange, kInPools, true);
        }
        return Fate::passes;
    });
    CHECK_THAT(add_to_block(*a, "c", claim(kRange)), Contains("has whereabouts"));
    CHECK(blocks().empty());
    CHECK(looks == 2);
}

TEST_CASE_METHOD(Ranges, "a range that a killed node has not confirmed belongs to whoever comes a minute later") {
    if (!is_there()) return;
    make_range(kRange, kInBlocks, false);
    CHECK_THAT(add_to_pool("c", kRange), Contains("has blocks"));
    Relay relay("rdmanet");
    relay.clock_ahead = 61;
    const auto later = relay.connect();
    CHECK(add_to_pool(*later, "c", kRange) == "10.0.0.1/24");
    CHECK(recorded() == "10.0.0.0/24 whereabouts");
    make_range("10.8.0.0/16", kInBlocks, false);
    CHECK(add_to_pool(*later, "d", "10.8.7.0/24") == "10.8.7.1/24");
    CHECK_THAT(recorded(), !Contains("10.8.0.0/16"));
}

TEST_CASE_METHOD(Ranges, "a range that an earlier version has half moved gives nothing in any store, and takes back") {
    if (!is_there()) return;
    const std::string path = std::string(kRangesPath) + "/" + space + "-10.0.0.0-24";
    auto b = node("b");
    const auto check_refusals = [&](const std::string& text) {
        const std::string said = "AddressRange " + space + "-10.0.0.0-24 says " + text;
        const auto check = [&](const std::string& refusal) {
            CHECK_THAT(refusal, Contains(said) && Contains("delete that AddressRange"));
        };
        check(add_to_pool("c", kRange));
        check(add_to_block(*b, "e", claim(kRange)));
        check(add_to_block(*b, "e", wanting(kRange, "10.0.0.77")));
        CHECK(b->file->blocks(soon()).empty());
        const std::vector<Place> places{{.space = space, .subnet = prefix(kRange)}};
        CHECK_THROWS_WITH(find_recorded_stores(*admin, places, soon()), Contains(said));
    };
    SECTION("from pools, before or after its confirmation") {
        CHECK(add_to_pool("a", kRange) == "10.0.0.1/24");
        patch(path, R"([{"op":"replace","path":"/spec/store","value":"whereabouts>blocks"}])");
        check_refusals(R"("store": "whereabouts>blocks")");
        patch(path, R"([{"op":"replace","path":"/spec/confirmed","value":false}])");
        check_refusals(R"("store": "whereabouts>blocks")");
        give_back("a", kRange);
        // Deleted, it is recorded anew.
        delete_range("10.0.0.0-24");
        CHECK(is_address(add_to_block(*b, "e", claim(kRange))));
    }
    SECTION("with addresses that others hold") {
        CHECK(add_to_pool("a", kRange) == "10.0.0.1/24");
        patch(path, R"([{"op":"add","path":"/spec/held","value":["10.0.0.16-10.0.0.31"]}])");
        check_refusals(R"("held": ["10.0.0.16-10.0.0.31"])");
        give_back("a", kRange);
    }
    SECTION("from blocks, which go back") {
        auto a = node("a");
        CHECK(is_address(add_to_block(*a, "d", claim(kRange))));
        patch(path, R"([{"op":"replace","path":"/spec/store","value":"blocks>whereabouts"}])");
        check_refusals(R"("store": "blocks>whereabouts")");
        CHECK(is_address(text_of(a->store->find(owner("d", "pod-d").key, soon()))));
        CHECK(is_address(text_of(a->store->release(owner("d", "pod-d").key, soon()))));
        delete_object(path);
        (void)a->store->tidy(soon());
        CHECK(a->file->blocks(soon()).empty());
        CHECK(recorded().empty());
        CHECK(add_to_pool("c", kRange) == "10.0.0.1/24");
    }
}
