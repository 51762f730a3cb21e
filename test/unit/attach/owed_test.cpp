// What stays in a record while some of it is owed.
#include "owed.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace rdmanet;
using namespace rdmanet::attach;
using state::AttachmentRecord;

namespace {

constexpr const char* kDevice = "0000:3b:00.2";

/// Of an earlier version, which wrote down the device of the settings only once.
AttachmentRecord record_of_vf() {
    AttachmentRecord record;
    record.phase = state::Phase::attached;
    record.rdma_device = "mlx5_2";
    record.leases = {{.address = "10.0.0.1/24"}};
    record.ips = {"10.0.0.1/24"};
    record.steps = {state::KeepDevice{.device = kDevice},
                    state::ResetFunction{.device = kDevice},
                    state::SetVf{.pf = "0000:3b:00.0", .number = 1},
                    state::MoveLink{.device = kDevice},
                    state::MoveRdma{.device = kDevice, .index = 1},
                    state::MoveRdma{.device = kDevice, .index = 2},
                    state::DelegateIpam{.plugin = "host-local"}};
    return record;
}

/// The record when all but the steps of these numbers are undone, from the last to the first.
AttachmentRecord owed_when_failed(const std::vector<std::size_t>& failed, bool has_no_leases = true) {
    AttachmentRecord owed = all_owed(record_of_vf());
    for (std::size_t at = owed.steps.size(); at-- > 0;)
        if (std::find(failed.begin(), failed.end(), at) == failed.end()) leave_owed(owed, at);
    forget_given_back(owed, has_no_leases);
    return owed;
}

} // namespace

TEST_CASE("what another IPAM plugin owes names neither device nor lease") {
    const AttachmentRecord owed = owed_when_failed({6});
    REQUIRE(owed.steps.size() == 1);
    CHECK(owed.find_step<state::DelegateIpam>() != nullptr);
    CHECK(owed.phase == state::Phase::prepared);
    CHECK(owed.device().empty());
    CHECK(owed.rdma_device.empty());
    CHECK(owed.leases.empty());
}

TEST_CASE(
    "settings that are owed hold their device alone, also in records of earlier versions, but for what they spoil") {
    AttachmentRecord owed = owed_when_failed({2});
    REQUIRE(owed.steps.size() == 3); // the reset comes after them, and makes the net device anew
    CHECK(owed.device() == kDevice);
    leave_owed(owed, 2);
    leave_owed(owed, 1);
    leave_owed(owed, 0);
    CHECK(owed.steps.empty());
    AttachmentRecord without_reset = record_of_vf();
    without_reset.steps.erase(without_reset.steps.begin() + 1);
    without_reset = all_owed(without_reset);
    for (const std::size_t at : {5U, 4U, 3U, 2U, 0U}) leave_owed(without_reset, at);
    REQUIRE(without_reset.steps.size() == 1);
    CHECK(without_reset.device() == kDevice);
}

TEST_CASE("an RDMA device that is home is still known to the record of its sibling that is not") {
    const AttachmentRecord owed = owed_when_failed({4});
    const auto* move = owed.find_step<state::MoveRdma>();
    REQUIRE(move != nullptr);
    CHECK(move->index == 1);
    CHECK(move->stayed == std::vector<std::uint32_t>{2});
    CHECK(owed.rdma_device == "mlx5_2");
}

TEST_CASE("leases that could not be released stay in the record") {
    const AttachmentRecord owed = owed_when_failed({}, false);
    CHECK(owed.steps.empty());
    CHECK(owed.leases.size() == 1);
    CHECK(owed.ips.size() == 1);
}
