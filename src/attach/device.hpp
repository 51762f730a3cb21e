// Moving a device into a pod: a VF with its settings in the PF, or a whole function; its net device, its RDMA devices.
#pragma once

#include "session.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/rdma.hpp>
#include <rdmanet/kernel/vf.hpp>
#include <rdmanet/state/owed_names.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rdmanet::attach {

struct PodSide;

/// What its PF is to change of a VF.
struct VfPlan {
    kernel::VfOf of;
    kernel::VfId id;
    kernel::VfSettings before;  // as far as the driver tells
    kernel::VfSettings changes; // what is asked for and differs
};

/// The host's end of a VF whose PF is in switchdev mode.
struct RepresentorPlan {
    kernel::Link link;            // once set up, as it is then
    state::SetRepresentor before; // what is to change, as it was
};

/// What was found out about a device that is to move.
struct DevicePlan {
    base::BusAddress address;
    std::optional<VfPlan> vf{};                   // "sriov"
    std::optional<RepresentorPlan> representor{}; // of the VF, if its PF is in switchdev mode
    std::string rebind_to{};                      // InfiniBand: the driver, if it must be bound anew to take a new GUID
    std::uint64_t node_guid = 0;                  // before that, of its RDMA device
    std::optional<state::ResetFunction> reset{};  // what DEL is to do, if it is to be reset
    std::optional<kernel::Link> link{}; // none: an earlier plugin's, or the driver is one for user space, "vfio-pci"
    std::vector<kernel::RdmaDevice> moving{};  // RDMA devices that go into the pod
    std::vector<kernel::RdmaDevice> staying{}; // and those that are on the host all the same
    std::string name_in_pod{};                 // of the one that moves; empty: as on the host
    std::vector<state::OwedName> owed_names{}; // what RDMA devices on the host should be called, and are not yet
    std::optional<kernel::RdmaPort> rdma{};    // of the device, if it stays on the host and pods share all of them
    bool awaits_port = false;                  // whether its RDMA port tells only when it is up in the pod
    std::optional<base::FileLock> claim{};     // of the device, until the record is written

    [[nodiscard]] bool is_infiniband() const;
};

/// What moves: a device of a bus, or an interface that none has, by its name on the host.
using Movable = std::variant<base::BusAddress, std::string>;
[[nodiscard]] std::string to_string(const Movable& movable);

/// Which device: the one that the device plugin chose, or the configuration describes, or that an earlier plugin's
/// interface is of. Throws CniError if that is none.
[[nodiscard]] Movable find_movable(const cni::Request& request, const config::Config& config, PodSide& pod,
                                   const state::AttachmentStore& records, const base::Deadline& deadline);

/// The one that the configuration names. nullopt if it leaves that to the device plugin. Throws CniError if it is none.
[[nodiscard]] std::optional<Movable>
find_named_device(const config::Config& config, const state::AttachmentStore& records, const base::Deadline& deadline);

/// Throws CniError if an alternative name of the link is taken in the pod.
void require_free_names(const std::string& device, const kernel::Link& link, PodSide& pod, const cni::Request& request);

/// Reads the kernel and changes nothing. Throws CniError with the cure for whatever would make the ADD fail later,
/// among it that the device is another attachment's.
[[nodiscard]] DevicePlan plan_device(const cni::Request& request, const config::Config& config, const Session& session,
                                     PodSide& pod, const base::BusAddress& address, const base::Deadline& deadline);

/// The device's steps as the journal describes them, in the order of doing.
[[nodiscard]] std::vector<state::Step> device_steps(const cni::Request& request, const config::Config& config,
                                                    const DevicePlan& plan, const base::Deadline& deadline,
                                                    const base::Logger& log);

using RdmaDevices = std::vector<kernel::RdmaDevice>;

/// Does them: VF settings, net device, RDMA devices. Returns the link in the pod, which is down; none for a device with
/// a driver for user space. If the driver was bound anew, the plan gets the RDMA devices that it has made, and
/// `on_new_rdma` is called before they move: they are to be written down.
[[nodiscard]] std::optional<kernel::Link> move_device(const cni::Request& request, const config::Config& config,
                                                      DevicePlan& plan, const Session& session, PodSide& pod,
                                                      const std::function<void()>& on_new_rdma,
                                                      const base::Deadline& deadline);

/// The steps of RDMA devices that move, while others of the device stay on the host. `name_in_pod` is as in the plan.
[[nodiscard]] std::vector<state::Step> rdma_steps(const base::BusAddress& address, const RdmaDevices& moving,
                                                  const RdmaDevices& staying = {}, const std::string& name_in_pod = {});

/// Those of a plan. The names on the host are those that the devices have there or are owed.
[[nodiscard]] std::vector<state::Step> rdma_steps(const DevicePlan& plan);

/// The MAC of a device without a net device, for the result: what its PF decides; empty if that is nothing.
[[nodiscard]] std::string mac_without_link(const DevicePlan& plan);

} // namespace rdmanet::attach
