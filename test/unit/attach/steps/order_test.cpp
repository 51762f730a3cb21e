// The order of steps, for devices that this machine need not have.
#include "stage.hpp"

#include "steps/kinds.hpp"

#include "support/concat.hpp"

#include <linux/if_arp.h>

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::attach;
using attach::test::Stage;
using rdmanet::test::concat;

namespace {

/// A VF that needs every kind of step.
FoundDevice find_vf(bool infiniband) {
    const kernel::VfSettings changes{.trust = true};
    kernel::Link link;
    link.name = "no-such-link";
    link.hardware_type = infiniband ? ARPHRD_INFINIBAND : ARPHRD_ETHER;
    link.hardware_address.assign(infiniband ? 20 : 6, 2);
    if (infiniband) link.kind = "ipoib";
    const base::PciAddress pf = base::PciAddress::parse("0000:3b:00.0").value();
    return {.address = base::BusAddress::parse("0000:3b:00.2").value(),
            .vf = FoundVf{.of = {.pf = pf, .number = 1}, .id = {}, .before = {}, .changes = changes},
            .representor = FoundRepresentor{},
            .rebind_to = infiniband ? "mlx5_core" : "",
            .reset = FoundReset{},
            .link = link,
            .selection = {.moving = {{.index = 1, .name = "mlx5_2"}, {.index = 2, .name = "mlx5_3"}}}};
}

/// The steps' names in the journal.
std::string kinds_of(const std::vector<state::Step>& steps) {
    std::string text;
    for (const state::Step& step : steps) text += concat(text.empty() ? "" : " ", step.kind);
    return text;
}

constexpr const char* kVf =
    R"("attach": "sriov", "deviceID": "0000:3b:00.2", "reset": true, "ipam": {"type": "other"}, "runtimeConfig":
       {"CNIDeviceInfoFile": "/var/run/k8s.cni.cncf.io/devinfo/cni/no-such-device.json"})";

} // namespace

TEST_CASE("the journal has a VF's steps in the order whose reverse undoes them") {
    NEEDS_NETNS();
    const Stage stage(kVf);
    Findings found;
    found.device = find_vf(false);
    CHECK(kinds_of(recorded(plan_steps(stage.context(), found))) ==
          "keep-device reset-function set-vf set-representor move-link move-rdma move-rdma delegate-ipam "
          "write-device-info");
    found.device = find_vf(true);
    CHECK(kinds_of(recorded(plan_steps(stage.context(), found))) ==
          "keep-device rebind-driver reset-function set-vf set-representor move-link move-rdma move-rdma delegate-ipam "
          "write-device-info");
}

TEST_CASE("RDMA devices that a driver made again are the ones that move") {
    NEEDS_NETNS();
    const Stage stage(kVf);
    Findings found;
    found.device = find_vf(true);
    const Steps steps = plan_steps(stage.context(), found);
    CHECK(rdma_device_of(steps) == "mlx5_2,mlx5_3");
    const Progress progress{.record = stage.record(),
                            .made_rdma = RdmaDevices{{.index = 8, .name = "mlx5_7"}, {.index = 7, .name = "mlx5_6"}}};
    int changed = 0;
    for (const auto& step : steps) changed += step->learn(stage.context(), progress) ? 1 : 0;
    for (const auto& step : steps) changed += step->learn(stage.context(), progress) ? 1 : 0;
    CHECK(changed == 1);
    CHECK(rdma_device_of(steps) == "mlx5_6,mlx5_7");
}

TEST_CASE("a step names the steps that must be undone before it") {
    const auto of = [](std::string_view kind) { return state::Step{.kind = std::string(kind), .json = "{}"}; };
    for (const std::string_view move : {kMoveLink, kMoveRdma}) {
        CHECK(is_move(of(move)));
        for (const std::string_view waiting : {kSetVf, kResetFunction, kRebindDriver})
            CHECK(waits_for(of(waiting), of(move)));
    }
    CHECK(waits_for(of(kKeepDevice), of(kMoveLink)));
    CHECK_FALSE(waits_for(of(kKeepDevice), of(kMoveRdma)));
    CHECK_FALSE(waits_for(of(kMoveLink), of(kMoveRdma)));
    CHECK_FALSE(waits_for(of(kDelegateIpam), of(kMoveLink)));
    CHECK_FALSE(is_move(of(kMoveInterface)));
}

TEST_CASE("a step names the undos that would spoil its own") {
    const auto of = [](std::string_view kind) { return state::Step{.kind = std::string(kind), .json = "{}"}; };
    for (const std::string_view owed : {kRebindDriver, kResetFunction, kMoveRdma})
        CHECK(is_spoilt_by(of(kKeepDevice), of(owed)));
    CHECK_FALSE(is_spoilt_by(of(kKeepDevice), of(kSetVf)));
    for (const std::string_view spoilt : {kRebindDriver, kResetFunction}) CHECK(is_spoilt_by(of(spoilt), of(kSetVf)));
    CHECK_FALSE(is_spoilt_by(of(kSetVf), of(kMoveRdma)));
}
