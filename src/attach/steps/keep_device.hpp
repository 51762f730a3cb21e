// Records how a device's net device was before its pod, and restores it.
#pragma once

#include "context.hpp"
#include "kinds.hpp"
#include "link_settings.hpp"

#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <array>
#include <string>
#include <string_view>

namespace rdmanet::attach {

/// The attachment has a device. Undoing it restores the net device's settings, once the net device is back on the
/// host.
struct KeepDevice {
    static constexpr std::string_view kKind = kKeepDevice;
    static constexpr std::array kWaitsFor{kMoveLink};
    /// These create the net device again: binding a driver and, on InfiniBand, moving the RDMA device.
    static constexpr std::array kSpoiltBy{kRebindDriver, kResetFunction, kMoveRdma};

    LinkBefore before; // without a name if the driver is for user space: then there is no net device

    [[nodiscard]] static KeepDevice parse(const json::Reader& reader) { return {.before = LinkBefore::parse(reader)}; }
    void write(json::Writer& writer) const { before.write(writer); }
    [[nodiscard]] state::Holds holds() const { return {.device = before.device}; }
    [[nodiscard]] std::string describe() const;
    [[nodiscard]] ByHand by_hand(const base::Deadline& deadline) const;
    void revert(const RevertContext& context) const;
};

} // namespace rdmanet::attach
