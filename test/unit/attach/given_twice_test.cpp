// Two ADDs that got one address from two lease stores at the same moment.
#include <rdmanet/attach/node.hpp>
#include <rdmanet/leases/leases.hpp>

#include "support/directory.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;

namespace {

struct Every : ipam::LivenessProbe {
    explicit Every(ipam::Liveness its) : liveness(its) {}
    ipam::Verdict probe(const ipam::Owner& /*owner*/) override { return {.liveness = liveness}; }
    ipam::Liveness liveness;
};

state::AttachmentRecord record_of(const std::string& container) {
    state::AttachmentRecord record;
    record.key = {.network = "net", .container_id = container, .ifname = "net1"};
    record.boot_id = "boot";
    record.phase = state::Phase::attached;
    record.leases = {{.space = "", .address = "10.0.0.7/24"}};
    return record;
}

} // namespace

TEST_CASE("of two ADDs that got one address at the same moment, the second fails, unless the first pod is dead") {
    const rdmanet::test::Directory directory;
    const attach::Node node(directory.path(), base::Logger(base::LogLevel::error));
    const state::AttachmentStore records = node.records();
    const leases::Leases leases(node, records);
    Every pods(ipam::Liveness::alive);
    const auto note = [&](const char* container) {
        leases.note_addresses(record_of(container), pods, base::Deadline::in(std::chrono::seconds(5)));
    };
    for (const char* container : {"c1", "c2"}) records.save(record_of(container));
    CHECK_NOTHROW(note("c1"));
    CHECK_NOTHROW(note("c1")); // a repeated ADD
    CHECK_THROWS_AS(note("c2"), ipam::StoreError);
    CHECK(records.find_with_address("", *base::IpAddress::parse("10.0.0.7"))->key.container_id == "c1");
    pods.liveness = ipam::Liveness::dead;
    CHECK_NOTHROW(note("c2"));
    CHECK(records.find_with_address("", *base::IpAddress::parse("10.0.0.7"))->key.container_id == "c2");
}
