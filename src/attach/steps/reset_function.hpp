// Resetting a device between the pods that have it: what one of them left in it, queues and steering rules, is gone
// before the next.
#pragma once

#include "context.hpp"
#include "findings.hpp"
#include "kinds.hpp"
#include "step.hpp"

#include <rdmanet/base/logger.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/state/owed_names.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::attach {

/// A function that the pod has is to be reset when it is back, so that the next finds nothing of this one in it.
/// Undone by that, and by binding its driver anew.
struct ResetFunction {
    static constexpr std::string_view kKind = kResetFunction;
    static constexpr std::array kWaitsFor{kMoveLink, kMoveRdma};
    static constexpr std::array kSpoiltBy{kSetVf}; // the driver takes what the PF has set

    std::string device; // bus address
    std::string driver;
    std::vector<std::string> rdma_names; // of its RDMA devices on the host, in the order in which the driver made them

    [[nodiscard]] static ResetFunction parse(const json::Reader& reader);
    void write(json::Writer& writer) const;
    [[nodiscard]] state::Holds holds() const { return {.device = device}; }
    [[nodiscard]] std::string describe() const;
    void revert(const RevertContext& context) const;
};

/// Throws CniError with the cure for a device that can't be reset alone.
void find_reset(const PlanContext& context, Findings& found);

/// What DEL is to do; nothing of a device whose driver resets it. The RDMA devices are those on the host, by the
/// names that they have or are owed.
[[nodiscard]] std::optional<FoundReset> plan_reset(const base::BusAddress& address,
                                                   const std::vector<state::OwedName>& owed, const base::Logger& log,
                                                   const base::Deadline& deadline);

/// Null if the attachment needs none.
[[nodiscard]] std::unique_ptr<Step> make_reset_after(const AddContext& context, const Findings& found);

} // namespace rdmanet::attach
