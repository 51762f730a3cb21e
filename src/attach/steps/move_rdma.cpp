#include "move_rdma.hpp"

#include "device_return.hpp"
#include "kinds.hpp"
#include "rdma_names.hpp"

#include "lookup/device_link.hpp"
#include "lookup/device_usable.hpp"
#include "lookup/rdma_users.hpp"
#include "owners/claims.hpp"
#include "owners/liveness.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/kernel/device.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>

namespace rdmanet::attach {
namespace {

using base::BusAddress;
using base::quoted;
using kernel::RdmaDevice;
using kernel::Socket;
using state::MoveRdma;

std::optional<kernel::RdmaDevice> find_immovable(const RdmaDevices& devices, kernel::Socket& rdma,
                                                 const kernel::Netns& pod) {
    const auto found = std::find_if(devices.begin(), devices.end(), [&](const kernel::RdmaDevice& device) {
        return !kernel::is_rdma_device_movable(rdma, device.index, pod);
    });
    return found == devices.end() ? std::nullopt : std::optional(*found);
}

/// Checks only the pod. Today all RDMA devices of a machine share one set of names (ib_device_rename(),
/// drivers/infiniband/core/device.c), but that may change. So the kernel decides about other namespaces when ADD
/// renames.
void require_free_rdma_name(const FoundDevice& found, const std::string& path, const kernel::Netns& pod,
                            const base::Deadline& deadline) {
    auto inside = found.selection.name_in_pod.empty() ? std::nullopt : kernel::Socket::find_rdma_in(pod, deadline);
    if (inside && kernel::find_rdma_device(*inside, found.selection.name_in_pod))
        refuse_rdma(
            fmt::format("rdma.name: {} is already an RDMA device in {}: give each of the pod's networks another name",
                        quoted(found.selection.name_in_pod), path));
}

void rename_in(kernel::Socket& inside, const kernel::RdmaDevice& device, const std::string& name) try {
    if (device.name != name) kernel::rename_rdma_device(inside, device.index, name);
} catch (const kernel::NetlinkError& error) {
    if (error.errno_value() != EEXIST) throw;
    refuse_rdma(
        fmt::format("rdma.name: {} is the name of another RDMA device of this node, and the kernel allows each name "
                    "once in all namespaces together: use it only for a network with one pod on each node, or "
                    "remove it",
                    quoted(name)));
}

/// RDMA CM needs a node GUID. An mlx5 VF has none before its PF sets a MAC, and takes one only when it is probed
/// (mlx5_eswitch_set_vport_mac(), drivers/net/ethernet/mellanox/mlx5/core/eswitch.c).
void warn_of_zero_guid(const FoundDevice& found, const RdmaDevices& devices, const base::Logger& log) {
    if (!found.vf || !found.rebind_to.empty()) return;
    const auto zero = std::find_if(devices.begin(), devices.end(),
                                   [](const kernel::RdmaDevice& device) { return device.node_guid == 0; });
    if (zero == devices.end()) return;
    const kernel::VfId& vf = found.vf->id;
    log.warn(fmt::format(
        "RDMA device {} of {} has no node GUID, so RDMA CM will not work on it: run `ip link set {} vf {} {} "
        "...` and bind the driver of {} again before a pod gets it",
        quoted(zero->name), vf, vf.pf, vf.number, found.is_infiniband() ? "node_guid" : "mac", found.address));
}

std::optional<RdmaDevice> find_moved(Socket& rdma, const MoveRdma& step) {
    auto device = kernel::find_rdma_device(rdma, step.index);
    return device && device->node_guid == step.node_guid ? device : std::nullopt;
}

/// Whether ADD knew the device: it moved it, or left it on the host.
bool is_known(const RdmaDevice& device, const state::AttachmentRecord& record) {
    return std::any_of(record.steps.begin(), record.steps.end(), [&](const state::Step& step) {
        const auto* moved = std::get_if<MoveRdma>(&step);
        if (moved == nullptr) return false;
        const auto& stayed = moved->stayed;
        return (moved->index == device.index && moved->node_guid == device.node_guid) ||
               std::find(stayed.begin(), stayed.end(), device.index) != stayed.end();
    });
}

/// Whether the moved RDMA devices no longer exist. That is so if the driver is gone, or has created other RDMA devices
/// on the host since. Devices that ADD knew prove nothing, because the kernel returns them one after the other.
bool is_gone(const BusAddress& address, const state::AttachmentRecord& record, Socket& rdma) {
    if (!has_network_driver(address)) return true;
    const RdmaDevices present = find_rdma_devices(address, rdma);
    return std::any_of(present.begin(), present.end(),
                       [&](const RdmaDevice& device) { return !is_known(device, record); });
}

void move_rdma_to_host(const MoveRdma& step, const kernel::Netns& pod, const Undo& undo) {
    auto inside = Socket::find_rdma_in(pod, undo.call.deadline);
    if (!inside || !find_moved(*inside, step)) return;
    const kernel::Netns home = kernel::Netns::current();
    const base::FileLock lock = undo.call.records.lock_rdma(undo.call.deadline);
    const kernel::NetnsScope scope(pod); // the kernel needs the device, the socket and the thread in one namespace
    kernel::move_rdma_device(*inside, step.index, home);
}

/// The lock is held only while the kernel draws the numbers of character devices and they are compared: on a node that
/// starts many pods, all others wait for it.
void move_in_turn(const RdmaDevices& moving, const Call& call, Socket& outside, Socket& inside) {
    const base::FileLock lock = call.records.lock_rdma(call.deadline);
    for (const kernel::RdmaDevice& device : moving) {
        const auto before = kernel::find_uverbs(outside, device.index);
        kernel::move_rdma_device(outside, device.index, call.pod->netns);
        const auto after = kernel::find_uverbs(inside, device.index);
        if (before && after) require_same_uverbs(device.name, *before, *after, "when it moved");
    }
}

/// Moves the chosen RDMA devices, and renames the one that gets another name in the pod. Throws NetlinkError, or
/// CniError if a device gets another uverbs number in the pod or cannot have the name.
void move_rdma(const RdmaSelection& selection, const Call& call) {
    if (selection.moving.empty()) return;
    Socket rdma = Socket::open(kernel::Protocol::rdma, call.deadline);
    Socket* inside = call.pod->find_rdma(call.deadline);
    if (inside == nullptr) throw base::Error("the kernel's RDMA subsystem has been unloaded");
    move_in_turn(selection.moving, call, rdma, *inside);
    if (selection.name_in_pod.empty()) return;
    for (const kernel::RdmaDevice& device : selection.moving) rename_in(*inside, device, selection.name_in_pod);
}

/// The names, separated by commas, as the SR-IOV device plugin writes them into its device-info files.
std::string names_of(const RdmaDevices& devices) {
    return base::join(devices, ",", &RdmaDevice::name);
}

class MoveRdmaStep final : public Step {
public:
    explicit MoveRdmaStep(const FoundDevice& device)
        : address_(device.address), selection_(device.selection), waiting_names_(device.waiting_names) {}

    /// Records the names on the host, or those that wait to be restored.
    [[nodiscard]] std::vector<state::Step> recorded() const override {
        RdmaDevices moving = selection_.moving;
        for (RdmaDevice& device : moving) device.name = own_name(device, waiting_names_);
        return rdma_steps(address_, moving, selection_.staying, selection_.name_in_pod);
    }

    [[nodiscard]] std::string rdma_device() const override {
        return selection_.name_in_pod.empty() ? names_of(selection_.moving) : selection_.name_in_pod;
    }

    void describe(const Call& /*call*/, Description& description) const override {
        const std::string& name = selection_.name_in_pod;
        for (const RdmaDevice& device : selection_.moving)
            description.add.push_back(
                name.empty()
                    ? fmt::format("move RDMA device {} into the pod", quoted(device.name))
                    : fmt::format("move RDMA device {} into the pod as {}", quoted(device.name), quoted(name)));
        for (const RdmaDevice& device : selection_.staying)
            description.add.push_back(fmt::format("leave RDMA device {} on the host", quoted(device.name)));
    }

    /// A driver that was bound again has created other RDMA devices.
    [[nodiscard]] bool learn(const Call& call, const Progress& progress) override {
        if (!progress.made_rdma || has_learned_) return false;
        selection_ = choose_rdma_again(address_, call.config->rdma, selection_, *progress.made_rdma);
        return has_learned_ = true;
    }

    void apply(const Call& call, Progress& progress) override {
        move_rdma(selection_, call);
        progress.moved_rdma = selection_.moving;
        progress.rdma_device = rdma_device();
    }

private:
    BusAddress address_;
    RdmaSelection selection_;
    std::vector<state::WaitingName> waiting_names_;
    bool has_learned_ = false;
};

void check_rdma_shared(const state::AttachmentRecord& record, const base::Deadline& deadline) {
    const std::string name = recorded_port(record).device;
    auto outside = kernel::Socket::find_rdma(deadline);
    if (!outside || !kernel::find_rdma_device(*outside, name))
        differs(fmt::format("RDMA device {} of {} is gone from the host", quoted(name), record.device()),
                kLoadRdmaDriver);
}

/// Compares the device's name in the pod only if ADD gave it one.
void check_moved_rdma(const MoveRdma& wanted, const std::optional<kernel::RdmaDevice>& present) {
    if (!present)
        differs(fmt::format("RDMA device {} of {} is gone from the pod", quoted(wanted.name), wanted.device),
                kDeletePod);
    if (!wanted.name_in_pod.empty() && present->name != wanted.name_in_pod)
        differs(fmt::format("RDMA device of {} is called {} in the pod, expected {}", wanted.device,
                            quoted(present->name), quoted(wanted.name_in_pod)),
                kDeletePod);
}

/// Chooses the RDMA devices that move. `rdma` is null if the kernel has no RDMA.
void choose_devices(FoundDevice& device, const Call& call, Socket* rdma) {
    const config::RdmaPolicy& policy = call.config->rdma;
    if (policy.demand == config::RdmaDemand::ignored) return;
    if (!device.link && !call.config->is_rdma_only()) { // the driver is for user space
        if (policy.demand == config::RdmaDemand::required)
            refuse_rdma(fmt::format(
                "device {} has driver {}, which creates no RDMA device, but network {} asks for RDMA "
                "(\"rdma\"): bind it to its network driver, or remove \"rdma\"",
                device.address, quoted(kernel::driver_of(device.address)), quoted(call.request->conf.name)));
        return;
    }
    if (rdma != nullptr) device.rdma_on_host = kernel::list_rdma_devices(*rdma);
    const auto devices =
        rdma != nullptr ? find_rdma_devices(device.address, *rdma, device.rdma_on_host) : RdmaDevices{};
    if (devices.empty()) {
        if (policy.demand == config::RdmaDemand::required)
            refuse_rdma(
                fmt::format("device {} has no RDMA device on the host, but network {} asks for RDMA (\"rdma\"): load "
                            "the NIC's RDMA driver (for example `modprobe mlx5_ib`), return the RDMA device if "
                            "another namespace has it, or remove \"rdma\"; `rdmanet doctor` says more (rdma-driver, "
                            "apart)",
                            device.address, quoted(call.request->conf.name)));
        call.log.debug(fmt::format("device {} has no RDMA device on the host", device.address));
        return;
    }
    warn_of_zero_guid(device, devices, call.log);
    if (moves_rdma(policy, kernel::read_rdma_system(*rdma), call.request->conf.name))
        device.selection = choose_rdma(device.address, policy, devices);
    else
        device.rdma = device.link ? port_for_gids(*rdma, devices, *device.link) : first_port(*rdma, devices.front());
}

/// Asks the kernel whether the devices can move. `elsewhere` is a namespace that they are not in.
void require_movable(FoundDevice& device, const Call& call, Socket& rdma, const kernel::Netns& elsewhere) {
    const config::RdmaPolicy& policy = call.config->rdma;
    const auto fixed = find_immovable(device.selection.moving, rdma, elsewhere);
    if (!fixed) return;
    if (policy.demand == config::RdmaDemand::required)
        refuse_rdma(
            fmt::format("RDMA device {} cannot move to another namespace, because its driver cannot disconnect its "
                        "users: use a driver that can, or \"rdma\": {{\"mode\": \"shared\"}} and `rdma system set "
                        "netns shared` before any pod starts, or remove \"rdma\"",
                        quoted(fixed->name)));
    call.log.warn(
        fmt::format("RDMA device {} cannot move to another namespace, because its driver cannot disconnect its "
                    "users: it stays on the host, and the pod has no RDMA",
                    quoted(fixed->name)));
    device.selection.moving.clear();
}

/// Asks the kernel whether the RDMA devices could move to some other namespace. It takes the lock of RDMA moves, so
/// that no device arrives there meanwhile. It does not ask if the lock is taken or no other namespace is known.
void require_movable_somewhere(FoundDevice& device, const Call& call, Socket& rdma) try {
    RdmaDevices& moving = device.selection.moving;
    if (moving.empty() || call.config->rdma.demand != config::RdmaDemand::required) return;
    const auto elsewhere = kernel::find_other_netns();
    if (!elsewhere) return;
    const base::FileLock lock = call.records.lock_rdma(base::Deadline::in(std::chrono::milliseconds{0}));
    const RdmaDevices by_now = find_rdma_devices(device.address, rdma);
    std::erase_if(moving, [&](const RdmaDevice& each) {
        return std::none_of(by_now.begin(), by_now.end(),
                            [&](const RdmaDevice& other) { return other.index == each.index; });
    });
    require_movable(device, call, rdma, *elsewhere);
} catch (const base::TimeoutError&) { // the next STATUS asks
}

/// Throws if the device has an IPoIB interface. The kernel destroys it and creates a new one when its RDMA device
/// moves (see follow_rdma()), so the pod would lose its interface with all addresses.
void require_no_ipoib(const BusAddress& address, Socket& host, PodSide& pod) {
    auto link = find_link_inside(address, pod.route);
    if (!link) link = find_link_on_host(address, host);
    if (link && link->is_infiniband())
        refuse_device(
            address,
            fmt::format("is InfiniBand, and the kernel destroys its IPoIB interface {} when its RDMA device moves "
                        "alone: let \"attach\": \"sriov\" or \"host-device\" move both, instead of the plugin "
                        "before this one",
                        quoted(link->name)));
}

} // namespace

/// Decides which of the device's RDMA devices move into the pod, from the configuration and the node's RDMA mode. For
/// STATUS it may take the lock of RDMA moves for a moment, to ask the kernel whether the device could move.
void MoveRdmaKind::find(const Call& call, Findings& found) {
    if (!found.device) return;
    FoundDevice& device = *found.device;
    if (call.pod != nullptr && call.config->is_rdma_only()) require_no_ipoib(device.address, *call.host, *call.pod);
    if (call.config->rdma.demand == config::RdmaDemand::ignored) return;
    auto rdma = Socket::find_rdma(call.deadline);
    choose_devices(device, call, rdma ? &*rdma : nullptr);
    if (!rdma) return;
    if (call.pod == nullptr) return require_movable_somewhere(device, call, *rdma);
    const kernel::Netns& pod = call.pod->netns;
    require_movable(device, call, *rdma, pod);
    for (const RdmaDevice& each : device.selection.moving) require_unused(*rdma, each);
    require_free_rdma_name(device, call.request->netns_path, pod, call.deadline);
}

std::unique_ptr<Step> MoveRdmaKind::make(const Call& /*call*/, const Findings& found) {
    if (!found.device || found.device->selection.moving.empty()) return nullptr;
    return std::make_unique<MoveRdmaStep>(*found.device);
}

/// Compares the namespace of the RDMA devices with what ADD did and with what the configuration asks for now.
void MoveRdmaKind::check(const Comparison& compared) {
    const state::AttachmentRecord& record = compared.record;
    if (!compared.wanted.is_device() || record.rdma_device.empty()) return;
    const RdmaDevices moved = moved_devices(record);
    if (compared.wanted.rdma.isolation.value_or(!moved.empty()) == moved.empty())
        differs(moved.empty() ? fmt::format("RDMA device {} of {} stayed on the host, expected in the pod",
                                            record.rdma_device, record.device())
                              : fmt::format("RDMA device {} of {} is in the pod, expected on the host",
                                            record.rdma_device, record.device()),
                kDeletePod);
    if (moved.empty()) return check_rdma_shared(record, compared.call.deadline);
    auto inside = kernel::Socket::find_rdma_in(compared.netns, compared.call.deadline);
    for (const state::Step& step : record.steps)
        if (const auto* wanted = std::get_if<MoveRdma>(&step))
            check_moved_rdma(*wanted, inside ? kernel::find_rdma_device(*inside, wanted->index) : std::nullopt);
}

std::vector<state::Step> rdma_steps(const base::BusAddress& address, const RdmaDevices& moving,
                                    const RdmaDevices& staying, const std::string& name_in_pod) {
    std::vector<std::uint32_t> stayed;
    for (const kernel::RdmaDevice& device : staying) stayed.push_back(device.index);
    std::vector<state::Step> steps;
    for (const kernel::RdmaDevice& device : moving)
        steps.emplace_back(MoveRdma{.device = address.to_string(),
                                    .index = device.index,
                                    .node_guid = device.node_guid,
                                    .name = device.name,
                                    .name_in_pod = name_in_pod,
                                    .stayed = stayed});
    return steps;
}

std::string MoveRdmaKind::describe(const Recorded& step) {
    return fmt::format("RDMA device {} of {}", quoted(step.name), step.device);
}

ByHand MoveRdmaKind::by_hand(const Recorded& step, const base::Deadline& /*deadline*/) {
    std::string returns = "the kernel returns it to the host when the pod is gone";
    if (step.name_in_pod.empty() || step.name_in_pod == step.name) return {.text = std::move(returns)};
    return {.text = fmt::format("{}; then run `rdma dev set {} name {}`", returns, step.name_in_pod, step.name)};
}

void MoveRdmaKind::revert(const Recorded& step, const Undo& undo) {
    const auto address = find_present_device(step.device);
    auto outside = Socket::find_rdma(undo.call.deadline);
    if (!address || !outside) return;
    if (const auto netns = find_recorded_netns(undo.record, undo.call.netns_path()))
        move_rdma_to_host(step, *netns, undo);
    const auto returned = wait_for_return(undo, [&]() -> std::optional<RdmaDevice> {
        if (auto found = find_moved(*outside, step)) return found;
        return is_gone(*address, undo.record, *outside) ? std::optional(RdmaDevice{}) : std::nullopt;
    });
    if (!returned && end_by_unbinding(*address, undo)) return;
    if (!returned)
        throw base::Error("the kernel has not returned it to the host: a process or mount may still hold "
                          "the pod's namespace, `rdmanet gc` names it");
    if (!returned->name.empty()) restore_rdma_name(*outside, *returned, *address, step.name, undo.call);
}

} // namespace rdmanet::attach
