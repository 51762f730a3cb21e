// What is said of recorded steps that are not undone.
#include "steps/registry.hpp"
#include "support/directory.hpp"
#include "support/names.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/file.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <string>

using namespace rdmanet;
using Catch::Contains;
using rdmanet::test::Names;
using state::DelegateIpam;
using state::DeviceBaseline;
using state::MoveInterface;
using state::MoveLink;
using state::RebindDriver;
using state::ResetFunction;
using state::SetVf;
using state::WriteDeviceInfo;

namespace {

std::string by_hand(const state::Step& step) {
    return attach::describe_unreverted(step, base::Deadline::in(std::chrono::seconds{60}));
}

} // namespace

TEST_CASE("a step that is given up says what to do by hand, and the recorded values that this leaves out") {
    const DeviceBaseline kept{.link = {.device = "0000:3b:00.2",
                                       .name = "ens1f0v0",
                                       .altnames = {"enp59s0f0v0"},
                                       .files = {{"queues/tx-0/tx_maxrate", "100"}}}};
    CHECK_THAT(by_hand(kept), Names("0000:3b:00.2", "restore", R"(recorded as {"step":"device-baseline")",
                                    "enp59s0f0v0", R"("queues/tx-0/tx_maxrate":"100")"));
    CHECK_THAT(by_hand(MoveInterface{.before = {.device = "dummy0", .name = "dummy0"}, .ifname = "net1"}),
               Names("net1", "recorded as", "dummy0"));
    CHECK_THAT(by_hand(DelegateIpam{.plugin = "dhcp", .path = "/opt/cni/bin"}),
               Names("dhcp", "CNI_COMMAND=DEL", "recorded as", "/opt/cni/bin"));
    CHECK_THAT(by_hand(MoveLink{.device = "0000:3b:00.2", .ifname = "net1"}),
               Names("0000:3b:00.2", "the kernel returns it") && !Contains("recorded as"));
}

TEST_CASE("nothing is done by hand for a device that is gone, or for a file of another plugin") {
    CHECK_THAT(by_hand(SetVf{.pf = "ffff:ff:1f.0", .number = 3}), Contains("nothing to do") && !Contains("`"));
    CHECK_THAT(by_hand(ResetFunction{.device = "ffff:ff:1f.7", .driver = "mlx5_core", .rdma_names = {"mlx5_3"}}),
               Contains("nothing to do") && !Contains("`"));
    CHECK_THAT(by_hand(RebindDriver{.device = "ffff:ff:1f.7", .driver = "mlx5_core", .node_guid = 7}),
               Contains("nothing to do") && !Contains("`"));
    const rdmanet::test::Directory directory;
    const WriteDeviceInfo info{.path = directory.file("info")};
    base::write_file_durably(info.path, R"({"type": "vdpa"})");
    CHECK_THAT(by_hand(info), Contains("nothing to do") && !Contains("`"));
    base::write_file_durably(info.path, R"({"type": "pci"})");
    CHECK_THAT(by_hand(info), Names(info.path, "remove") && !Contains("nothing to do"));
}
