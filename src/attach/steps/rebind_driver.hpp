// Binds the driver of an InfiniBand VF again, so that it takes the GUIDs that the PF has set.
#pragma once

#include "context.hpp"
#include "findings.hpp"
#include "kinds.hpp"
#include "step.hpp"

#include "owners/attachment.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace rdmanet::attach {

/// A device's driver was bound again, so that it takes the GUIDs that the PF has set. Undoing it binds the driver
/// again.
struct RebindDriver {
    static constexpr std::string_view kKind = kRebindDriver;
    /// The driver must be bound on the host, so the device must be back.
    static constexpr std::array kWaitsFor{kMoveLink, kMoveRdma};
    static constexpr std::array kSpoiltBy{kSetVf}; // the driver takes what the PF has set

    std::string device; // bus address
    std::string driver;
    // The GUIDs from before. While the VF has both, there is nothing to undo:
    std::string guid;            // of its port
    std::uint64_t node_guid = 0; // of its RDMA device, host byte order; 0: it had none

    [[nodiscard]] static RebindDriver parse(const json::Reader& reader);
    void write(json::Writer& writer) const;
    [[nodiscard]] state::Holds holds() const { return {.device = device}; }
    [[nodiscard]] std::string describe() const;
    void revert(const RevertContext& context) const;
};

/// Plans to bind the driver again if the VF does not have the requested GUID yet. Throws CniError if the VF would have
/// no valid GUID.
void find_rebind(const PlanContext& context, Findings& found);

// Null if the attachment needs none.

[[nodiscard]] std::unique_ptr<Step> make_rebind_after(const AddContext& context, const Findings& found);
[[nodiscard]] std::unique_ptr<Step> make_rebind(const AddContext& context, const Findings& found);

} // namespace rdmanet::attach
