#include <rdmanet/ops/state_report.hpp>

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/ipam/store/lease_file.hpp>
#include <rdmanet/json/reader.hpp>

#include "support/concat.hpp"
#include "support/directory.hpp"
#include "support/line_with.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

using namespace rdmanet;
using Catch::Matchers::Contains;
using rdmanet::test::concat;
using rdmanet::test::line_with;
using rdmanet::test::Names;

namespace {

namespace fs = std::filesystem;

attach::Node node_at(const std::string& directory) {
    return {directory, base::Logger(base::LogLevel::error)};
}

struct StateDirectory : rdmanet::test::Directory {
    [[nodiscard]] ops::StateReport report() const { return ops::read_state(path()); }

    void save(const state::AttachmentRecord& record) const { node_at(path()).records().save(record); }
    void lease(const state::AttachmentRecord& record) const {
        ipam::LeaseFile store({.state_directory = path()});
        ipam::Owner owner{.key = {record.key.network, record.key.container_id, record.key.ifname},
                          .pod_namespace = record.pod.pod_namespace,
                          .pod_name = record.pod.name,
                          .pod_uid = record.pod.uid};
        (void)store.regain({{.space = "blue",
                             .slot = 0,
                             .address = *base::IpPrefix::parse("10.1.2.3/24"),
                             .owner = owner,
                             .since = record.created,
                             .cooldown = std::chrono::seconds(0)}},
                           base::Deadline::in(std::chrono::seconds(10)));
    }
};

state::AttachmentRecord record() {
    state::AttachmentRecord record;
    record.key = {.network = "roce", .container_id = "0123456789abcdef", .ifname = "net1"};
    record.phase = state::Phase::attached;
    record.attach = "macvlan";
    record.created = 1'700'000'000;
    record.netns = {.path = "/run/netns/p", .device = 4, .inode = 5, .cookie = 6};
    record.pod = {.pod_namespace = "ml", .name = "train-0", .uid = "u-1"};
    record.rdma_device = "mlx5_0/1";
    record.ips = {"10.1.2.3/24", "fd00::3/64"};
    record.steps = {state::CreateLink{.child = {.kind = "macvlan",
                                                .mode = "macvlan mode bridge",
                                                .parent = "ens1f0",
                                                .parent_ifindex = 2,
                                                .parent_in_pod = false,
                                                .mac = "02:00:00:00:00:01"},
                                      .ifname = "net1",
                                      .ifindex = 3}};
    return record;
}

/// What the kernel would show for that device.
attach::RdmaView view() {
    const auto entry = [](unsigned index, const char* address, kernel::GidType type) {
        return kernel::GidEntry{
            .index = index, .address = *base::IpAddress::parse(address), .type = type, .netdev = "net1"};
    };
    return {.device = "mlx5_0",
            .port = 1,
            .place = attach::RdmaPlace::host,
            .files = {"uverbs0", "rdma_cm"},
            .gids = {entry(4, "fd00::3", kernel::GidType::ib_or_roce_v1), entry(5, "fd00::3", kernel::GidType::roce_v2),
                     entry(7, "10.1.2.3", kernel::GidType::roce_v2)},
            .trouble = ""};
}

} // namespace

TEST_CASE("a node without state is reported, and nothing is created") {
    const StateDirectory state;
    const std::string absent = state.path() + "/absent";
    CHECK(ops::to_json(ops::read_state(absent)) ==
          "{\n    \"attachments\": [],\n    \"leases\": [],\n    \"unreadable\": []\n}\n");
    CHECK(ops::to_table(ops::read_state(absent)) == concat("nothing attached (", absent, " does not exist)\n"));
    CHECK_FALSE(fs::exists(absent));
    (void)state.report();
    CHECK(fs::is_empty(state.path()));
}

TEST_CASE("the report names who holds a device, and an IPoIB child has its parent's RDMA device in both tables") {
    const StateDirectory state;
    auto vf = record();
    vf.attach = "sriov";
    vf.steps = {state::MoveLink{.device = "0000:3b:00.2", .ifname = "net1"}};
    state.save(vf);
    CHECK_THAT(ops::to_table(state.report()), Contains("net1        sriov  0000:3b:00.2"));
    CHECK_THAT(ops::to_json(state.report()), Contains(R"("device": "0000:3b:00.2")"));
    state::AttachmentRecord child = record();
    child.attach = "ipoib";
    child.rdma_device.clear();
    state.save(child);
    ops::StateReport report = state.report();
    report.rdma = {{{.device = "ib1p0", .port = 1, .trouble = ""}}};
    CHECK_THAT(ops::to_table(report), Contains("net1        ipoib  ens1f0  ib1p0/1  roce ") &&
                                          Contains("\nib1p0/1  -      -      ml/train-0 "));
}

TEST_CASE("a duplicate address is reported with its GIDs") {
    const StateDirectory state;
    state.save(record());
    ops::StateReport report = state.report();
    report.rdma = {{view()}};
    CHECK_THAT(ops::to_table(report), !Contains("duplicate"));
    report.duplicates = {{*base::IpPrefix::parse("fd00::3/64")}};
    const std::string table = ops::to_table(report);
    CHECK_THAT(line_with("duplicate", table), Names("fd00::3/64", "net1"));
    CHECK_THAT(table.substr(table.find("duplicate")), Names("GID", "4 (RoCE v1)", "5 (RoCE v2)", "mlx5_0/1"));
    CHECK_THAT(ops::to_json(report), Contains("\"duplicates\": [\n                \"fd00::3/64\""));
}

TEST_CASE("the report as JSON") {
    const StateDirectory state;
    state.save(record());
    state.lease(record());
    ops::StateReport report = state.report();
    report.rdma = {{view()}};
    const json::Document document = json::Document::parse(ops::to_json(report));
    CHECK(
        document.root().at("attachments").elements().at(0).to_text() ==
        R"({"attach":"macvlan","containerID":"0123456789abcdef","created":"2023-11-14T22:13:20Z","delUnfinished":false,"device":"","duplicates":[],"ifname":"net1",)"
        R"("ips":["10.1.2.3/24","fd00::3/64"],"mac":"02:00:00:00:00:01","netns":"/run/netns/p","network":"roce",)"
        R"("parent":"ens1f0","phase":"attached","podName":"train-0","podNamespace":"ml","podState":"unknown",)"
        R"("podStateReason":"no readable record says when it was attached","podUID":"u-1",)"
        R"("rdma":[{"device":"mlx5_0","files":["uverbs0","rdma_cm"],"gids":[)"
        R"({"address":"fd00::3","index":4,"netdev":"net1","type":"RoCE v1"},)"
        R"({"address":"fd00::3","index":5,"netdev":"net1","type":"RoCE v2"},)"
        R"({"address":"10.1.2.3","index":7,"netdev":"net1","type":"RoCE v2"}],"port":1,"trouble":"","where":"host"}],)"
        R"("rdmaDevice":"mlx5_0/1"})");
    CHECK(document.root().at("leases").elements().at(0).to_text() ==
          R"({"address":"10.1.2.3/24","containerID":"0123456789abcdef","ifname":"net1","network":"roce",)"
          R"("podName":"train-0","podNamespace":"ml","podUID":"u-1","since":"2023-11-14T22:13:20Z","space":"blue"})");
    CHECK(document.root().at("unreadable").elements().empty());
}

TEST_CASE("the report as tables, also of attachments that are only prepared, have only addresses, or are outside "
          "Kubernetes") {
    const StateDirectory state;
    state.save(record());
    state.lease(record());
    const std::string table = ops::to_table(state.report());
    CHECK_THAT(table, Contains("net1        macvlan  ens1f0  mlx5_0/1  roce     ml/train-0  0123456789abc  attached  "
                               "10.1.2.3/24,fd00::3/64  2023-11-14T22:13:20Z\n"));
    CHECK_THAT(table, Contains("10.1.2.3/24  blue   roce     ml/train-0  0123456789abc  net1       "
                               "2023-11-14T22:13:20Z\n"));
    state::AttachmentRecord bare;
    bare.key = {.network = "n", .container_id = "c", .ifname = "eth0"};
    bare.attach = "ipam";
    const StateDirectory other;
    other.save(bare);
    CHECK_THAT(ops::to_table(other.report()),
               Contains("eth0        ipam  -       -     n        -    c          prepared  -          "));
    const json::Document document = json::Document::parse(ops::to_json(other.report()));
    CHECK(document.root().at("attachments").elements().at(0).at("parent").string().empty());
}

TEST_CASE("the tables have GID indexes, and what the kernel does not show") {
    const StateDirectory state;
    state.save(record());
    ops::StateReport report = state.report();
    report.rdma = {{view()}};
    CHECK_THAT(
        ops::to_table(report),
        Contains("mlx5_0/1  host   uverbs0,rdma_cm  ml/train-0  0123456789abc  net1       10.1.2.3  7 (RoCE v2)\n") &&
            Contains("net1       fd00::3   4 (RoCE v1), 5 (RoCE v2)\n"));
    report.rdma = {{{.device = "mlx5_0", .port = 0, .trouble = "no way in"}}};
    CHECK_THAT(ops::to_table(report),
               Contains("mlx5_0  -      -      ml/train-0  0123456789abc  net1       10.1.2.3  -\n") &&
                   Contains(": no way in\n"));
    CHECK_THAT(line_with("no way in", ops::to_table(report)), Names("net1", "recorded"));
    report.rdma = {{}};
    CHECK_THAT(ops::to_table(report), !Contains("GID INDEX"));
}

TEST_CASE("unreadable parts are reported beside the readable ones") {
    const StateDirectory state;
    state.save(record());
    base::write_file_durably(state.path() + "/attachments/x:y:z.json", "{\"version\": 1");
    base::write_file_durably(state.path() + "/leases", "these are no leases");
    const ops::StateReport report = state.report();
    CHECK(report.attachments.records.size() == 1);
    CHECK_THAT(ops::to_table(report), Contains("unreadable record " + state.path() + "/attachments/x:y:z.json: ") &&
                                          Contains("cannot read the leases: "));
    const json::Document document = json::Document::parse(ops::to_json(report));
    CHECK(document.root().at("unreadable").elements().size() == 2);
}
