// Binds the driver of an InfiniBand VF again, so that it takes the GUIDs that the PF has set.
#pragma once

#include "context.hpp"
#include "kinds.hpp"

#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <array>
#include <cstdint>
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
    [[nodiscard]] ByHand by_hand(const base::Deadline& deadline) const;
    void revert(const RevertContext& context) const;
};

} // namespace rdmanet::attach
