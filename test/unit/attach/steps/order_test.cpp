// The order of steps, of devices that this machine need not have.
#include "stage.hpp"

#include <rdmanet/base/text.hpp>

#include <linux/if_arp.h>

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::attach;
using attach::test::Stage;

namespace {

/// A VF for which there is everything to do.
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
            .reset = state::ResetFunction{.device = "0000:3b:00.2"},
            .link = link,
            .selection = {.moving = {{.index = 1, .name = "mlx5_2"}, {.index = 2, .name = "mlx5_3"}}}};
}

/// As the journal names them.
std::string kinds_of(const std::vector<state::Step>& steps) {
    std::string text;
    for (const state::Step& step : steps) {
        json::Writer writer;
        state::write_step(writer, step);
        const json::Document document = json::Document::parse(writer.to_text());
        text += base::concat(text.empty() ? "" : " ", document.root().at("step").string());
    }
    return text;
}

constexpr const char* kVf =
    R"("attach": "sriov", "deviceID": "0000:3b:00.2", "reset": true, "ipam": {"type": "other"}, "runtimeConfig":
       {"CNIDeviceInfoFile": "/var/run/k8s.cni.cncf.io/devinfo/cni/no-such-device.json"})";

} // namespace

TEST_CASE("the journal has a VF's steps in the order in which their undoing is right from its end") {
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

TEST_CASE("RDMA devices that a driver made anew are those that move") {
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

TEST_CASE("a step says what must be undone before it") {
    const state::Step keep = state::KeepDevice{};
    const state::Step settings = state::SetVf{};
    const state::Step link = state::MoveLink{};
    const state::Step rdma = state::MoveRdma{};
    CHECK(waits_for(settings, link));
    CHECK(waits_for(settings, rdma));
    CHECK(waits_for(keep, link));
    CHECK_FALSE(waits_for(keep, rdma));
    CHECK_FALSE(waits_for(link, rdma));
    CHECK_FALSE(waits_for(state::DelegateIpam{}, link));
}
