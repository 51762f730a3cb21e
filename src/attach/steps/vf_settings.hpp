// Sets a VF through its PF, and restores its settings.
#pragma once

#include "context.hpp"
#include "kinds.hpp"
#include "step.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/kernel/vf.hpp>

#include <array>
#include <string>
#include <string_view>

namespace rdmanet::attach {

/// Settings of a VF were changed through its PF. Undoing it restores them.
struct SetVf {
    static constexpr std::string_view kKind = kSetVf;
    /// The pod must not get the host's settings, so the device must be back on the host.
    static constexpr std::array kWaitsFor{kMoveLink, kMoveRdma};

    std::string pf;            // bus address
    unsigned number = 0;       // of the VF in its PF
    kernel::VfSettings before; // only those that ADD changed
    std::string device;        // bus address of the VF; empty in records of earlier versions

    [[nodiscard]] static SetVf parse(const json::Reader& reader);
    void write(json::Writer& writer) const;
    [[nodiscard]] state::Holds holds() const { return {.device = device}; }
    [[nodiscard]] std::string describe() const;
    [[nodiscard]] ByHand by_hand(const base::Deadline& deadline) const;
    void revert(const RevertContext& context) const;
};

/// Reads the VF's settings and compares them with the requested ones. Throws CniError if:
/// - the device is not a VF, or its PF cannot be asked
/// - the PF's MTU is below the configured one
/// - the link layer does not have a requested setting
[[nodiscard]] FoundVf find_vf(const base::BusAddress& address, const PlanContext& context);

} // namespace rdmanet::attach
