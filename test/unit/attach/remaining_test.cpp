// A record keeps only what is not yet undone.
#include "remaining.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace rdmanet;
using namespace rdmanet::attach;
using state::AttachmentRecord;
using state::DelegateIpam;
using state::DeviceBaseline;
using state::MoveLink;
using state::MoveRdma;
using state::ResetFunction;
using state::SetVf;

namespace {

constexpr const char* kDevice = "0000:3b:00.2";

AttachmentRecord record_of_vf() {
    AttachmentRecord record;
    record.phase = state::Phase::attached;
    record.rdma_device = "mlx5_2";
    record.leases = {{.address = "10.0.0.1/24"}};
    record.ips = {"10.0.0.1/24"};
    record.steps = {DeviceBaseline{.link = {.device = kDevice}},
                    ResetFunction{.device = kDevice},
                    SetVf{.pf = "0000:3b:00.0", .number = 1, .device = kDevice},
                    MoveLink{.device = kDevice},
                    MoveRdma{.device = kDevice, .index = 1},
                    MoveRdma{.device = kDevice, .index = 2},
                    DelegateIpam{.plugin = "host-local"}};
    return record;
}

/// The record after all steps except `failed` were undone, from the last to the first.
AttachmentRecord remaining_when_failed(const std::vector<std::size_t>& failed, bool has_no_leases = true) {
    AttachmentRecord remaining = all_remaining(record_of_vf());
    for (std::size_t at = remaining.steps.size(); at-- > 0;)
        if (std::find(failed.begin(), failed.end(), at) == failed.end()) drop_undone_step(remaining, at);
    drop_released(remaining, has_no_leases);
    return remaining;
}

} // namespace

TEST_CASE("a delegated IPAM call that is left over holds neither device nor lease") {
    const AttachmentRecord remaining = remaining_when_failed({6});
    REQUIRE(remaining.steps.size() == 1);
    CHECK(remaining.has_step<DelegateIpam>());
    CHECK(remaining.phase == state::Phase::prepared);
    CHECK(remaining.device().empty());
    CHECK(remaining.rdma_device.empty());
    CHECK(remaining.leases.empty());
}

TEST_CASE("settings that are left over keep their device and the reset behind them") {
    AttachmentRecord remaining = remaining_when_failed({2});
    REQUIRE(remaining.steps.size() == 3); // the reset comes after the settings and creates the net device again
    CHECK(remaining.device() == kDevice);
    drop_undone_step(remaining, 2);
    drop_undone_step(remaining, 1);
    drop_undone_step(remaining, 0);
    CHECK(remaining.steps.empty());
    AttachmentRecord without_reset = record_of_vf();
    without_reset.steps.erase(without_reset.steps.begin() + 1);
    without_reset = all_remaining(without_reset);
    for (const std::size_t at : {5U, 4U, 3U, 2U, 0U}) drop_undone_step(without_reset, at);
    REQUIRE(without_reset.steps.size() == 1);
    CHECK(without_reset.device() == kDevice);
}

TEST_CASE("a record with one RDMA device left in the pod still names its sibling on the host") {
    const AttachmentRecord remaining = remaining_when_failed({4});
    const auto* move = remaining.find_step<MoveRdma>();
    REQUIRE(move != nullptr);
    CHECK(move->index == 1);
    CHECK(move->stayed == std::vector<std::uint32_t>{2});
    CHECK(remaining.rdma_device == "mlx5_2");
}

TEST_CASE("leases that could not be released stay in the record") {
    const AttachmentRecord remaining = remaining_when_failed({}, false);
    CHECK(remaining.steps.empty());
    CHECK(remaining.leases.size() == 1);
    CHECK(remaining.ips.size() == 1);
}
