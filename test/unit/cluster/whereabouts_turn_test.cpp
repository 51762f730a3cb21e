// Nodes that write one pool at once take turns.
#include "pools/turn.hpp"
#include "relay.hpp"
#include "subnet.hpp"

#include "unit/ipam/fixture.hpp"

#include <rdmanet/json/writer.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;

namespace {

constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/rdmanet-turns/leases";
constexpr std::int64_t kNow = 1000;
constexpr std::int64_t kHour = 3600;

class InCrowd : public Subnet {
public:
    /// A store whose node has just noticed other nodes at the pool.
    [[nodiscard]] std::unique_ptr<WhereaboutsStore> in_crowd(kube::Api& its_api) {
        WhereaboutsStore::Options own = options({kRange});
        own.state_directory = directory.path();
        own.node.name = "crowded";
        own.node.boot_id = "boot";
        turns(its_api, ipam::system_time().boot).note_crowd(pool_of_case());
        return std::make_unique<WhereaboutsStore>(its_api, own);
    }
    [[nodiscard]] Turns turns(kube::Api& its_api, std::int64_t now) const {
        return {its_api,
                {.name_space = "kube-system",
                 .holder = "another",
                 .state_directory = directory.path(),
                 .boot_id = "boot",
                 .clock = [now] { return now; }}};
    }
    [[nodiscard]] std::string pool_of_case() const { return pool_name({.space = space, .subnet = prefix(kRange)}); }
    [[nodiscard]] std::string lease_path() const { return std::string(kLeases) + "/kube-system." + pool_of_case(); }

    /// What whoever is killed in its turn leaves.
    void leave_lease() {
        json::Writer lease;
        lease.begin_object().member("apiVersion", "coordination.k8s.io/v1").member("kind", "Lease").key("metadata");
        lease.begin_object().member("name", "kube-system." + pool_of_case()).end_object().key("spec").begin_object();
        lease.member("holderIdentity", "killed").end_object().end_object();
        create(kLeases, lease.to_text());
    }
    [[nodiscard]] bool has_lease() const {
        return std::holds_alternative<kube::Object>(admin->get(lease_path(), soon()));
    }
    /// The place of the first request that begins so.
    static std::ptrdiff_t place_of(const std::vector<std::string>& requests, const std::string& beginning) {
        return std::find_if(requests.begin(), requests.end(),
                            [&](const std::string& request) { return request.starts_with(beginning); }) -
               requests.begin();
    }

    const ipam::test::TemporaryDirectory directory;
};

} // namespace

TEST_CASE_METHOD(InCrowd, "a node alone at a pool asks for a turn once in a boot") {
    Relay relay("rdmanet");
    const auto its_api = relay.connect();
    WhereaboutsStore::Options own = options({kRange});
    own.state_directory = directory.path();
    WhereaboutsStore alone(*its_api, own);
    const auto turns_asked_for = [&] {
        const auto requests = relay.take_requests();
        return std::count_if(requests.begin(), requests.end(), [](const std::string& request) {
            return request.starts_with("POST ") && request.find(kLeases) != std::string::npos;
        });
    };
    CHECK(text_of(alone.reserve(owner("a", "p"), {claim(kRange)}, soon())) == "10.0.0.1/29");
    CHECK(turns_asked_for() == 1);
    CHECK_FALSE(has_lease());
    CHECK(text_of(alone.release(owner("a", "p").key, soon())) == "10.0.0.1/29");
    CHECK(text_of(alone.reserve(owner("b", "p"), {claim(kRange)}, soon())) == "10.0.0.1/29");
    // On a busy machine a read may take so long that other nodes seem to be there, which is noted.
    CHECK((turns_asked_for() == 0 || turns(*api, ipam::system_time().boot).is_crowded(pool_of_case())));
}

TEST_CASE_METHOD(InCrowd, "in a crowd, the pool is read and written within a turn, which then ends") {
    Relay relay("rdmanet");
    const auto its_api = relay.connect();
    const auto crowded = in_crowd(*its_api);
    CHECK(crowded->find_predecessors(owner("a", "p"), soon()).empty());
    CHECK(text_of(crowded->reserve(owner("a", "p"), {claim(kRange)}, soon())) == "10.0.0.1/29");
    const auto requests = relay.take_requests();
    const auto begins = place_of(requests, std::string("POST ") + kLeases);
    const auto writes = place_of(requests, std::string("PATCH ") + kObjects);
    const auto ends = place_of(requests, "DELETE " + lease_path());
    CHECK(begins < writes);
    CHECK(writes < ends);
    CHECK(ends < static_cast<std::ptrdiff_t>(requests.size()));
    const auto is_read = [](const std::string& request) { return request.starts_with(std::string("GET ") + kObjects); };
    CHECK(std::count_if(requests.begin(), requests.begin() + begins, is_read) == 0);
    CHECK_FALSE(has_lease());
}

TEST_CASE_METHOD(InCrowd, "the turn of a node that was killed ends without it") {
    leave_lease();
    Relay relay("rdmanet");
    relay.clock_ahead = kHour; // the Lease has been there for too long
    const auto its_api = relay.connect();
    const auto crowded = in_crowd(*its_api);
    CHECK(text_of(crowded->reserve(owner("a", "p"), {claim(kRange)}, soon())) == "10.0.0.1/29");
    CHECK_FALSE(has_lease());
}

TEST_CASE_METHOD(InCrowd, "who waits for a turn in vain claims nothing, and waits again next time") {
    leave_lease();
    Relay relay("rdmanet");
    relay.clock_ahead = -kHour; // the Lease has never been there for too long
    const auto its_api = relay.connect();
    const auto crowded = in_crowd(*its_api);
    CHECK_THROWS_WITH(crowded->reserve(owner("a", "p"), {claim(kRange)}, base::Deadline::in(8s)),
                      Catch::Matchers::Contains("waited for a turn at IPPool kube-system/" + pool_of_case()));
    for (const std::string& request : relay.take_requests()) CHECK(request.find(kLeases) != std::string::npos);
    CHECK(claimed.empty());
    CHECK(turns(*api, ipam::system_time().boot).is_crowded(pool_of_case()));
}

TEST_CASE_METHOD(InCrowd, "a server that is too busy for a turn is not asked for the pool") {
    Relay relay("rdmanet");
    const auto its_api = relay.connect();
    relay.replace_answers([&](const std::string& request) -> std::optional<http::Response> {
        if (request.find(kLeases) == std::string::npos) return std::nullopt;
        http::Response busy;
        busy.status = 504;
        busy.body = R"({"kind":"Status","message":"request did not complete within the allotted timeout"})";
        return busy;
    });
    const auto crowded = in_crowd(*its_api);
    CHECK_THROWS_WITH(crowded->reserve(owner("a", "p"), {claim(kRange)}, soon()),
                      Catch::Matchers::Contains("request did not complete within the allotted timeout"));
    for (const std::string& request : relay.take_requests()) CHECK(request.find(kLeases) != std::string::npos);
}

TEST_CASE_METHOD(InCrowd, "a turn that is given back by its holder is the next one's") {
    auto first = std::make_optional(turns(*api, kNow));
    first->note_crowd(pool_of_case());
    auto held = std::make_optional(first->wait(pool_of_case(), soon()));
    CHECK(held->is_among_nodes());
    CHECK(has_lease());
    held.reset();
    CHECK_FALSE(has_lease());
    CHECK(first->wait(pool_of_case(), soon()).is_among_nodes());
}

TEST_CASE_METHOD(InCrowd, "without one of the rights to take turns, claims go on without") {
    const std::string missing = GENERATE("POST", "GET", "DELETE");
    INFO(missing);
    if (missing == "GET") leave_lease();
    Relay relay("rdmanet");
    const auto its_api = relay.connect();
    relay.replace_answers([&](const std::string& request) -> std::optional<http::Response> {
        if (!request.starts_with(missing) || request.find(kLeases) == std::string::npos) return std::nullopt;
        http::Response refused;
        refused.status = 403;
        refused.body = R"({"kind":"Status","message":"leases is forbidden"})";
        return refused;
    });
    const auto crowded = in_crowd(*its_api);
    CHECK(text_of(crowded->reserve(owner("a", "p"), {claim(kRange)}, soon())) == "10.0.0.1/29");
    const auto requests = relay.take_requests();
    CHECK(std::count_if(requests.begin(), requests.end(),
                        [](const std::string& request) { return request.find(kLeases) != std::string::npos; }) <= 2);
    CHECK(text_of(crowded->release(owner("a", "p").key, soon())) == "10.0.0.1/29");
}

TEST_CASE_METHOD(InCrowd, "a server that does not answer for a turn is not asked for the pool") {
    Relay relay("rdmanet");
    const auto its_api = relay.connect();
    relay.decide([](const std::string&) { return Fate::is_lost; });
    const auto crowded = in_crowd(*its_api);
    CHECK_THROWS_AS(crowded->reserve(owner("a", "p"), {claim(kRange)}, soon()), ipam::StoreError);
    CHECK(relay.take_requests() == std::vector<std::string>{std::string("POST ") + kLeases});
    CHECK(claimed.empty());
}

TEST_CASE_METHOD(InCrowd,
                 "a crowd is possible at first, noticed by slow reads, and over ten seconds after the last one") {
    const auto at = [&](std::int64_t now) { return turns(*api, now); };
    CHECK(at(kNow).is_crowded(pool_of_case())); // perhaps: nobody has looked in this boot
    (void)at(kNow).wait(pool_of_case(), soon());
    at(kNow).note_read(pool_of_case(), 99ms);
    CHECK_FALSE(at(kNow).is_crowded(pool_of_case()));
    at(kNow).note_read(pool_of_case(), 100ms);
    CHECK(at(kNow).is_crowded(pool_of_case()));
    CHECK(at(kNow + 9).is_crowded(pool_of_case()));
    CHECK_FALSE(at(kNow + 10).is_crowded(pool_of_case()));
    at(kNow + 9).note_crowd(pool_of_case());
    CHECK(at(kNow + 18).is_crowded(pool_of_case()));
}

TEST_CASE_METHOD(Subnet, "overlapping ranges of one network give an attachment two addresses") {
    const std::string wider = "10.0.0.0/28";
    WhereaboutsStore both(*api, options({kRange, wider}));
    const auto reserve_both = [&] {
        return text_of(both.reserve(owner("a", "p"), {claim(kRange), claim(wider)}, soon()));
    };
    CHECK(reserve_both() == "10.0.0.1/29 10.0.0.2/28");
    CHECK(reserve_both() == "10.0.0.1/29 10.0.0.2/28");
    CHECK(text_of(both.release(owner("a", "p").key, soon())) == "10.0.0.1/29 10.0.0.2/28");
    CHECK(reservation("10.0.0.2").empty());
}
