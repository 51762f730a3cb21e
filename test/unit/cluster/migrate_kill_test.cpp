// `rdmanet ipam migrate` that ends at any of its writes.
#include "migrate_fixture.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <string>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

class Cut : public Moves {
public:
    static bool is_change(const std::string& request) {
        return !request.starts_with("GET ") && request.find("dryRun") == std::string::npos;
    }
    /// From the change with that number on, nothing is heard. `last`: what becomes of that change itself.
    static std::function<Fate(const std::string&)> after(int changes, Fate last) {
        return [left = changes, last](const std::string& request) mutable {
            if (left == 0) return Fate::is_lost;
            if (is_change(request) && --left == 0) return last;
            return Fate::passes;
        };
    }
    /// Whether it came to its end.
    bool migrate_cut(const std::string& store, int changes, Fate last) {
        Relay relay("admin");
        relay.decide(after(changes, last));
        const auto api = relay.connect();
        const std::string done = migrate_to(store, *api);
        relay.decide(nullptr);
        (void)relay.deliver();
        return done.starts_with("moved");
    }
};

} // namespace

TEST_CASE_METHOD(Cut, "migrate that ends after any of its writes: again, or back, and nothing is given twice",
                 "[moves]") {
    if (!is_there()) return;
    const Fate last = GENERATE(Fate::is_lost, Fate::loses_its_answer, Fate::comes_late);
    auto a = node("a");
    REQUIRE(add_to_pool("p1") == "10.0.0.1/26");
    REQUIRE(add_to_pool("p2") == "10.0.0.2/26");
    bool is_whole = false;
    for (int changes = 1; !is_whole && changes < 20; ++changes) {
        INFO("change " << changes << ", fate " << static_cast<int>(last));
        is_whole = migrate_cut("blocks", changes, last);
        if (changes == 2) (void)add_to_block(*a, "early"); // a node goes on where it ended, after some patience
        CHECK(migrate_to("blocks") == "moved 10.0.0.1-10.0.0.2");
        CHECK(recorded() == R"(whereabouts>blocks ["10.0.0.1-10.0.0.2"])");
        const std::string given = add_to_block(*a, "b1");
        CHECK(is_address(given));
        CHECK((given != "10.0.0.1/26" && given != "10.0.0.2/26"));

        const bool is_back = migrate_cut("whereabouts", changes, last);
        if (!is_back && changes % 2 == 0) CHECK(migrate_to("blocks") == "moved 10.0.0.1-10.0.0.2");
        CHECK_THAT(migrate_to("whereabouts"), StartsWith("moved 10."));
        is_whole = is_whole && is_back;
        CHECK_THAT(recorded(), StartsWith("blocks>whereabouts ["));
        CHECK(!is_address(add_to_block(*a, "late", wanting(kRange, "10.0.0.60"))));
        (void)a->release("b1");
        (void)a->release("early");
        a->start();
        a->store->follow_ranges(soon());
        a->store->settle(std::chrono::seconds(0), soon());
        CHECK(blocks().empty());
        CHECK(migrate_to("whereabouts") == "moved");
        CHECK(recorded() == "whereabouts");
        CHECK(add_to_pool("p3") == "10.0.0.3/26");
        CHECK(release_in_pool("p3") == "10.0.0.3/26");
    }
    CHECK(is_whole);
}
