// RDMA devices go into the pod with their device, and come back.
#pragma once

#include "check_context.hpp"
#include "context.hpp"
#include "findings.hpp"
#include "kinds.hpp"
#include "step.hpp"

#include "lookup/rdma_devices.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::attach {

/// An RDMA device was moved into the pod, and may have been renamed there. Undone by moving it to the host, or by
/// waiting until the kernel has, and giving it back its name.
struct MoveRdma {
    static constexpr std::string_view kKind = kMoveRdma;

    std::string device;                // bus address
    std::uint32_t index = 0;           // of the RDMA device: survives renames and moves
    std::uint64_t node_guid = 0;       // guards the index
    std::string name;                  // on the host
    std::string name_in_pod;           // if it gets another there
    std::vector<std::uint32_t> stayed; // indices of the device's other RDMA devices, which were not moved

    [[nodiscard]] static MoveRdma parse(const json::Reader& reader);
    void write(json::Writer& writer) const;
    [[nodiscard]] state::Holds holds() const;
    [[nodiscard]] std::string describe() const;
    void revert(const RevertContext& context) const;
};

/// Decides which of the device's RDMA devices go into the pod, as configuration and the node's RDMA namespace mode have
/// it. Throws CniError with the cure where both don't fit, or RDMA is required and there is none, or none that can
/// move. For STATUS it may take the lock of RDMA moves for a moment, to ask the kernel whether the device could move.
void find_move_rdma(const PlanContext& context, Findings& found);

/// The steps of RDMA devices that move, while others of the device stay on the host. `name_in_pod` is empty if they
/// keep their names.
[[nodiscard]] std::vector<state::Step> rdma_steps(const base::BusAddress& address, const RdmaDevices& moving,
                                                  const RdmaDevices& staying = {}, const std::string& name_in_pod = {});

/// `undone` has left the record. An RDMA device that is home by now is still none that a driver has made anew: the
/// moves of its siblings among `owed` remember it (MoveRdma::stayed).
void remember_sibling(const state::Step& undone, std::vector<state::Step>& owed);

/// Null if the attachment needs none.
[[nodiscard]] std::unique_ptr<Step> make_move_rdma(const AddContext& context, const Findings& found);

/// Throws CniError (code 107) for what differs.
void check_move_rdma(const CheckContext& context);

} // namespace rdmanet::attach
