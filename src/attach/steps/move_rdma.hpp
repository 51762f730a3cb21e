// Moves the RDMA devices of a device into the pod and back.
#pragma once

#include "context.hpp"
#include "kinds.hpp"

#include "lookup/rdma_devices.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::attach {

/// An RDMA device was moved into the pod, and may have been renamed there. Undoing it moves the device to the host, or
/// waits until the kernel has done so, and restores its name.
struct MoveRdma {
    static constexpr std::string_view kKind = kMoveRdma;

    std::string device;                // bus address
    std::uint32_t index = 0;           // of the RDMA device; does not change when it is renamed or moved
    std::uint64_t node_guid = 0;       // confirms that the index is still the same device's
    std::string name;                  // on the host
    std::string name_in_pod;           // empty if it keeps its name
    std::vector<std::uint32_t> stayed; // indices of the device's other RDMA devices, which were not moved

    [[nodiscard]] static MoveRdma parse(const json::Reader& reader);
    void write(json::Writer& writer) const;
    [[nodiscard]] state::Holds holds() const;
    [[nodiscard]] std::string describe() const;
    [[nodiscard]] ByHand by_hand(const base::Deadline& deadline) const;
    void revert(const RevertContext& context) const;
};

/// The steps of the RDMA devices that move. `staying` are the device's RDMA devices that stay on the host.
/// `name_in_pod` is empty if they keep their names.
[[nodiscard]] std::vector<state::Step> rdma_steps(const base::BusAddress& address, const RdmaDevices& moving,
                                                  const RdmaDevices& staying = {}, const std::string& name_in_pod = {});

/// Call it when the step `undone` has left the record. The steps in `remaining` that move RDMA devices of the same
/// device remember the returned one in MoveRdma::stayed. Otherwise it would look like one that the driver created
/// since.
void remember_sibling(const state::Step& undone, std::vector<state::Step>& remaining);

} // namespace rdmanet::attach
