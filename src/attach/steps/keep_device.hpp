// How a device's net device was before its pod, and making it so again.
#pragma once

#include "check_context.hpp"
#include "context.hpp"
#include "findings.hpp"
#include "kinds.hpp"
#include "link_settings.hpp"
#include "step.hpp"

#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace rdmanet::attach {

/// The attachment has a device; how its net device was before. Undone, once it is back, by making it so again.
struct KeepDevice {
    static constexpr std::string_view kKind = kKeepDevice;
    static constexpr std::array kWaitsFor{kMoveLink};
    /// Drivers make the net device anew; on InfiniBand the move of the RDMA device does.
    static constexpr std::array kSpoiltBy{kRebindDriver, kResetFunction, kMoveRdma};

    LinkBefore before; // without a name if there is no net device: the driver is one for user space

    [[nodiscard]] static KeepDevice parse(const json::Reader& reader) { return {.before = LinkBefore::parse(reader)}; }
    void write(json::Writer& writer) const { before.write(writer); }
    [[nodiscard]] state::Holds holds() const { return {.device = before.device}; }
    [[nodiscard]] std::string describe() const;
    void revert(const RevertContext& context) const;
};

/// Null if the attachment needs none.
[[nodiscard]] std::unique_ptr<Step> make_keep_device(const AddContext& context, const Findings& found);

/// Throws CniError (code 107) for what differs.
void check_keep_device(const CheckContext& context);

} // namespace rdmanet::attach
