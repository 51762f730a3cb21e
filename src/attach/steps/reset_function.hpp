// Resets a device between two pods, so that the next pod finds nothing of the earlier one in it, for example queues
// and steering rules.
#pragma once

#include "context.hpp"
#include "kinds.hpp"
#include "step.hpp"

#include <rdmanet/base/logger.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/state/waiting_names.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::attach {

/// The pod's function must be reset after the pod. Undoing it resets the function and binds its driver again.
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
    [[nodiscard]] ByHand by_hand(const base::Deadline& deadline) const;
    void revert(const RevertContext& context) const;
};

/// What DEL must do. nullopt if the device's driver resets it by itself (VFIO). FoundReset::rdma_names are the names
/// of the RDMA devices on the host, or those that wait to be restored.
[[nodiscard]] std::optional<FoundReset> plan_reset(const base::BusAddress& address,
                                                   const std::vector<state::WaitingName>& waiting,
                                                   const base::Logger& log, const base::Deadline& deadline);

} // namespace rdmanet::attach
