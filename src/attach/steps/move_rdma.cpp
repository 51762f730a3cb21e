#include "move_rdma.hpp"

#include "device_return.hpp"
#include "recorded.hpp"

#include "lookup/device_link.hpp"
#include "lookup/device_usable.hpp"
#include "lookup/rdma_users.hpp"
#include "owners/claims.hpp"
#include "owners/liveness.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/state/members.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>

namespace rdmanet::attach {
namespace {

using base::BusAddress;
using base::concat;
using base::quoted;
using kernel::RdmaDevice;
using kernel::Socket;

[[noreturn]] void refuse_rdma(const std::string& why) {
    throw cni::CniError(cni::ErrorCode::rdma, why);
}

void require_same_uverbs_in(const kernel::Netns& netns, const kernel::RdmaDevice& device,
                            const std::optional<std::string>& before, const base::Deadline& deadline) {
    auto inside = kernel::Socket::find_rdma_in(netns, deadline);
    const auto after = inside ? kernel::find_uverbs(*inside, device.index) : std::nullopt;
    if (before && after) require_same_uverbs(device.name, *before, *after, "when it moved");
}

std::optional<kernel::RdmaDevice> find_immovable(const RdmaDevices& devices, kernel::Socket& rdma,
                                                 const kernel::Netns& pod) {
    const auto found = std::find_if(devices.begin(), devices.end(), [&](const kernel::RdmaDevice& device) {
        return !kernel::is_rdma_device_movable(rdma, device.index, pod);
    });
    return found == devices.end() ? std::nullopt : std::optional(*found);
}

/// Whether a device of another namespace has the name is for the kernel to tell when it comes to it: by now all of a
/// machine share their names (ib_device_rename(), drivers/infiniband/core/device.c), which need not stay so.
void require_free_rdma_name(const FoundDevice& found, const std::string& path, const kernel::Netns& pod,
                            const base::Deadline& deadline) {
    auto inside = found.selection.name_in_pod.empty() ? std::nullopt : kernel::Socket::find_rdma_in(pod, deadline);
    if (inside && kernel::find_rdma_device(*inside, found.selection.name_in_pod))
        refuse_rdma(concat("rdma.name: ", quoted(found.selection.name_in_pod), " is an RDMA device in ", path,
                           " already: give each of the pod's networks another name"));
}

void rename_in(const kernel::Netns& pod, const kernel::RdmaDevice& device, const std::string& name,
               const base::Deadline& deadline) try {
    auto inside = kernel::Socket::find_rdma_in(pod, deadline);
    if (inside && device.name != name) kernel::rename_rdma_device(*inside, device.index, name);
} catch (const kernel::NetlinkError& error) {
    if (error.errno_value() != EEXIST) throw;
    refuse_rdma(
        concat("rdma.name: ", quoted(name), " is the name of another RDMA device of this node, and this kernel ",
               "has each name once, whatever the namespace: use it in a network that each node has one pod of, ",
               "or remove it"));
}

/// Connections by RDMA CM are made between node GUIDs. An mlx5 VF has none before its PF has decided its MAC, and
/// takes one when it is probed (mlx5_eswitch_set_vport_mac(), drivers/net/ethernet/mellanox/mlx5/core/eswitch.c).
void warn_of_zero_guid(const FoundDevice& found, const RdmaDevices& devices, const base::Logger& log) {
    if (!found.vf || !found.rebind_to.empty()) return;
    const auto zero = std::find_if(devices.begin(), devices.end(),
                                   [](const kernel::RdmaDevice& device) { return device.node_guid == 0; });
    if (zero == devices.end()) return;
    const kernel::VfId& vf = found.vf->id;
    log.warn(concat("RDMA device ", quoted(zero->name), " of ", vf,
                    " has no node GUID, RDMA CM will not work on it: run ", "`ip link set ", vf.pf, " vf ", vf.number,
                    found.is_infiniband() ? " node_guid" : " mac", " ...` and bind the driver of ", found.address,
                    " anew before a pod gets it"));
}

std::optional<RdmaDevice> find_moved(Socket& rdma, const MoveRdma& step) {
    auto device = kernel::find_rdma_device(rdma, step.index);
    return device && device->node_guid == step.node_guid ? device : std::nullopt;
}

/// Whether ADD knew it: moved it, or left it where it was.
bool is_known(const RdmaDevice& device, const std::vector<MoveRdma>& moves) {
    return std::any_of(moves.begin(), moves.end(), [&](const MoveRdma& moved) {
        const auto& stayed = moved.stayed;
        return (moved.index == device.index && moved.node_guid == device.node_guid) ||
               std::find(stayed.begin(), stayed.end(), device.index) != stayed.end();
    });
}

/// A driver that was bound anew has made other RDMA devices, on the host: ours are gone, as they are with the driver.
/// Those that ADD knew tell nothing: the kernel returns one after the other.
bool is_gone(const BusAddress& address, const std::vector<MoveRdma>& moves, Socket& rdma) {
    if (!has_network_driver(address)) return true;
    const RdmaDevices present = find_rdma_devices(address, rdma);
    return std::any_of(present.begin(), present.end(),
                       [&](const RdmaDevice& device) { return !is_known(device, moves); });
}

void send_rdma_home(const MoveRdma& step, const kernel::Netns& pod, const RevertContext& context) {
    auto inside = Socket::find_rdma_in(pod, context.deadline);
    if (!inside || !find_moved(*inside, step)) return;
    const base::FileLock lock = context.records.lock_rdma(context.deadline);
    const kernel::Netns home = kernel::Netns::current();
    const kernel::NetnsScope scope(pod); // the device must be in the namespace of socket and thread
    kernel::move_rdma_device(*inside, step.index, home);
}

/// Those that move, the one that gets another name in the pod under that one. Throws NetlinkError; CniError for a
/// device that has another number in the pod, or can't have the name.
void move_rdma(const RdmaSelection& selection, const state::AttachmentStore& records, const kernel::Netns& netns,
               const base::Deadline& deadline) {
    if (selection.moving.empty()) return;
    const base::FileLock lock = records.lock_rdma(deadline);
    kernel::Socket rdma = kernel::Socket::open(kernel::Protocol::rdma, deadline);
    for (const kernel::RdmaDevice& device : selection.moving) {
        const auto uverbs = kernel::find_uverbs(rdma, device.index);
        kernel::move_rdma_device(rdma, device.index, netns);
        require_same_uverbs_in(netns, device, uverbs, deadline);
        if (!selection.name_in_pod.empty()) rename_in(netns, device, selection.name_in_pod, deadline);
    }
}

/// With commas between them, as the SR-IOV device plugin writes them into its device-info files.
std::string names_of(const RdmaDevices& devices) {
    std::string names;
    for (const RdmaDevice& device : devices) names += concat(names.empty() ? "" : ",", device.name);
    return names;
}

class MoveRdmaStep final : public Step {
public:
    explicit MoveRdmaStep(const FoundDevice& device)
        : address_(device.address), selection_(device.selection), owed_names_(device.owed_names) {}

    /// The names on the host are those that the devices have there or are owed.
    [[nodiscard]] std::vector<state::Step> recorded() const override {
        RdmaDevices moving = selection_.moving;
        for (RdmaDevice& device : moving) device.name = own_name(device, owed_names_);
        return rdma_steps(address_, moving, selection_.staying, selection_.name_in_pod);
    }

    [[nodiscard]] std::string rdma_device() const override {
        return selection_.name_in_pod.empty() ? names_of(selection_.moving) : selection_.name_in_pod;
    }

    void describe(const AddContext& /*context*/, Description& description) const override {
        const std::string& name = selection_.name_in_pod;
        for (const RdmaDevice& device : selection_.moving)
            description.add.push_back(concat("move RDMA device ", quoted(device.name), " into the pod",
                                             name.empty() ? "" : concat(" as ", quoted(name))));
        for (const RdmaDevice& device : selection_.staying)
            description.add.push_back(concat("leave RDMA device ", quoted(device.name), " on the host"));
    }

    /// A driver that was bound anew has made others.
    [[nodiscard]] bool learn(const AddContext& context, const Progress& progress) override {
        if (!progress.made_rdma || has_learned_) return false;
        selection_ = choose_rdma_again(address_, context.config.rdma, selection_, *progress.made_rdma);
        return has_learned_ = true;
    }

    void apply(const AddContext& context, Progress& progress) override {
        move_rdma(selection_, context.attachment.records, context.pod.netns, context.deadline);
        progress.moved_rdma = selection_.moving;
        progress.rdma_device = rdma_device();
    }

private:
    BusAddress address_;
    RdmaSelection selection_;
    std::vector<state::OwedName> owed_names_;
    bool has_learned_ = false;
};

void check_rdma_shared(const state::AttachmentRecord& record, const base::Deadline& deadline) {
    const std::string name = recorded_port(record).device;
    auto outside = kernel::Socket::find_rdma(deadline);
    if (!outside || !kernel::find_rdma_device(*outside, name))
        differs(concat("RDMA device ", quoted(name), " of ", record.device(), " is gone from the host"));
}

/// The pod's name for it counts where the configuration had ADD give it one.
void check_moved_rdma(const MoveRdma& wanted, const std::optional<kernel::RdmaDevice>& present) {
    if (!present) differs(concat("RDMA device ", quoted(wanted.name), " of ", wanted.device, " is gone from the pod"));
    if (!wanted.name_in_pod.empty() && present->name != wanted.name_in_pod)
        differs(concat("RDMA device of ", wanted.device, " is called ", quoted(present->name), " in the pod, expected ",
                       quoted(wanted.name_in_pod)));
}

/// Which of them go along. `rdma`: null if this kernel has no RDMA.
void choose_devices(FoundDevice& device, const PlanContext& context, Socket* rdma) {
    const auto& [request, config, records, log, deadline, host, add] = context;
    const config::RdmaPolicy& policy = config.rdma;
    if (policy.demand == config::RdmaDemand::ignored) return;
    if (!device.link && !config.is_rdma_only()) { // a driver for user space
        if (policy.demand == config::RdmaDemand::required)
            refuse_rdma(concat("device ", device.address, " has driver ", quoted(kernel::driver_of(device.address)),
                               ", which makes no RDMA device of it, network ", quoted(request.conf.name),
                               " asks for RDMA (\"rdma\"): bind it to its network driver, or remove \"rdma\""));
        return;
    }
    const auto devices = rdma != nullptr ? find_rdma_devices(device.address, *rdma) : RdmaDevices{};
    if (devices.empty()) {
        const std::string why = concat("device ", device.address, " has no RDMA device in the host's namespace");
        if (policy.demand == config::RdmaDemand::required)
            refuse_rdma(concat(why, ", network ", quoted(request.conf.name),
                               " asks for RDMA (\"rdma\"): load the NIC's RDMA driver, e.g. `modprobe mlx5_ib`, give "
                               "it back if another namespace has it, or remove \"rdma\""));
        log.debug(why);
        return;
    }
    warn_of_zero_guid(device, devices, log);
    if (moves_rdma(policy, kernel::rdma_netns_mode(*rdma), request.conf.name))
        device.selection = choose_rdma(device.address, policy, devices);
    else
        device.rdma = device.link ? port_for_gids(*rdma, devices, *device.link) : first_port(*rdma, devices.front());
}

/// Whether the devices' drivers let them go. In `elsewhere`, where they are not, the kernel is asked.
void require_movable(FoundDevice& device, const PlanContext& context, Socket& rdma, const kernel::Netns& elsewhere) {
    const config::RdmaPolicy& policy = context.config.rdma;
    const auto fixed = find_immovable(device.selection.moving, rdma, elsewhere);
    if (!fixed) return;
    const std::string why = concat("RDMA device ", quoted(fixed->name), " can't move to another namespace, because ",
                                   "its driver doesn't take it away from its users");
    if (policy.demand == config::RdmaDemand::required)
        refuse_rdma(concat(why, ": use a driver that does, or \"rdma\": {\"mode\": \"shared\"} and ",
                           "`rdma system set netns shared` before any pod starts, or remove \"rdma\""));
    context.log.warn(concat(why, ": it stays on the host, and the pod has no RDMA"));
    device.selection.moving.clear();
}

/// The kernel is asked about another namespace, under the lock of RDMA moves: no device must just arrive there. It is
/// not asked if the lock is taken or no other namespace is known.
void require_movable_somewhere(FoundDevice& device, const PlanContext& context, Socket& rdma) try {
    RdmaDevices& moving = device.selection.moving;
    if (moving.empty() || context.config.rdma.demand != config::RdmaDemand::required) return;
    const auto elsewhere = kernel::find_other_netns();
    if (!elsewhere) return;
    const base::FileLock lock = context.records.lock_rdma(base::Deadline::in(std::chrono::milliseconds{0}));
    const RdmaDevices by_now = find_rdma_devices(device.address, rdma);
    std::erase_if(moving, [&](const RdmaDevice& each) {
        return std::none_of(by_now.begin(), by_now.end(),
                            [&](const RdmaDevice& other) { return other.index == each.index; });
    });
    require_movable(device, context, rdma, *elsewhere);
} catch (const base::TimeoutError&) { // the next STATUS asks
}

/// The interface would be lost to the pod, addresses and all: the kernel makes it anew when its RDMA device moves, see
/// follow_rdma().
void require_no_ipoib(const BusAddress& address, Socket& host, PodSide& pod) {
    auto link = find_link_inside(address, pod.route);
    if (!link) link = find_link_on_host(address, host);
    if (link && link->is_infiniband())
        refuse_device(address, concat("is InfiniBand, the kernel destroys its IPoIB interface ", quoted(link->name),
                                      " when its RDMA device moves alone: instead of the plugin before this one, let ",
                                      "\"attach\": \"sriov\" or \"host-device\" move both"));
}

} // namespace

void find_move_rdma(const PlanContext& context, Findings& found) {
    if (!found.device) return;
    FoundDevice& device = *found.device;
    if (context.add != nullptr && context.config.is_rdma_only())
        require_no_ipoib(device.address, context.host, context.add->pod);
    if (context.config.rdma.demand == config::RdmaDemand::ignored) return;
    auto rdma = Socket::find_rdma(context.deadline);
    choose_devices(device, context, rdma ? &*rdma : nullptr);
    if (!rdma) return;
    if (context.add == nullptr) return require_movable_somewhere(device, context, *rdma);
    const kernel::Netns& pod = context.add->pod.netns;
    require_movable(device, context, *rdma, pod);
    for (const RdmaDevice& each : device.selection.moving) require_unused(*rdma, each);
    require_free_rdma_name(device, context.request.netns_path, pod, context.deadline);
}

std::vector<state::Step> rdma_steps(const base::BusAddress& address, const RdmaDevices& moving,
                                    const RdmaDevices& staying, const std::string& name_in_pod) {
    std::vector<std::uint32_t> stayed;
    for (const kernel::RdmaDevice& device : staying) stayed.push_back(device.index);
    std::vector<state::Step> steps;
    for (const kernel::RdmaDevice& device : moving)
        steps.push_back(to_record(MoveRdma{.device = address.to_string(),
                                           .index = device.index,
                                           .node_guid = device.node_guid,
                                           .name = device.name,
                                           .name_in_pod = name_in_pod,
                                           .stayed = stayed}));
    return steps;
}

MoveRdma MoveRdma::parse(const json::Reader& reader) {
    return {.device = reader.at("device").string(),
            .index = static_cast<std::uint32_t>(reader.at("index").integer(0, UINT32_MAX)),
            .node_guid = state::parse_number_text(reader.at("nodeGuid")),
            .name = reader.at("name").string(),
            .name_in_pod = state::find_string(reader, "nameInPod").value_or(""),
            .stayed = state::find_numbers(reader, "stayed").value_or(std::vector<std::uint32_t>{})};
}

void MoveRdma::write(json::Writer& writer) const {
    writer.member("device", device)
        .member("index", index)
        .member("nodeGuid", std::to_string(node_guid))
        .member("name", name);
    if (!name_in_pod.empty()) writer.member("nameInPod", name_in_pod);
    if (!stayed.empty()) state::write_numbers(writer, "stayed", stayed);
}

state::Holds MoveRdma::holds() const {
    return {.device = device, .rdma = state::HeldRdma{.index = index, .node_guid = node_guid, .name = name}};
}

std::string MoveRdma::describe() const {
    return concat("RDMA device ", quoted(name), " of ", device);
}

void MoveRdma::revert(const RevertContext& context) const {
    const auto address = find_present_device(device);
    auto outside = Socket::find_rdma(context.deadline);
    if (!address || !outside) return;
    if (const auto netns = find_recorded_netns(context.record, context.caller.netns_path))
        send_rdma_home(*this, *netns, context);
    const auto moves = list_steps<MoveRdma>(context.record);
    const auto returned = wait_for_return(context, [&]() -> std::optional<RdmaDevice> {
        if (auto found = find_moved(*outside, *this)) return found;
        return is_gone(*address, moves, *outside) ? std::optional(RdmaDevice{}) : std::nullopt;
    });
    if (!returned && end_by_unbinding(*address, context)) return;
    if (!returned)
        throw base::Error("the kernel has not returned it to the host: a process or mount may still hold "
                          "the pod's namespace, `rdmanet gc` names it");
    if (!returned->name.empty())
        restore_rdma_name(*outside, *returned, *address, name, name_keeper(context), context.deadline);
}

std::unique_ptr<Step> make_move_rdma(const AddContext& /*context*/, const Findings& found) {
    if (!found.device || found.device->selection.moving.empty()) return nullptr;
    return std::make_unique<MoveRdmaStep>(*found.device);
}

/// In the namespace that ADD left them in, which must be the one that the configuration asks for by now.
void check_move_rdma(const CheckContext& context) {
    const state::AttachmentRecord& record = context.record;
    if (!context.wanted.is_device() || record.rdma_device.empty()) return;
    const RdmaDevices moved = moved_devices(record);
    if (context.wanted.rdma.isolation.value_or(!moved.empty()) == moved.empty())
        differs(concat("RDMA device ", record.rdma_device, " of ", record.device(),
                       moved.empty() ? " stayed on the host, expected in the pod"
                                     : " is in the pod, expected on the host"));
    if (moved.empty()) return check_rdma_shared(record, context.deadline);
    auto inside = kernel::Socket::find_rdma_in(context.netns, context.deadline);
    for (const MoveRdma& wanted : list_steps<MoveRdma>(record))
        check_moved_rdma(wanted, inside ? kernel::find_rdma_device(*inside, wanted.index) : std::nullopt);
}

void remember_sibling(const state::Step& undone, std::vector<state::Step>& owed) {
    if (!undone.holds.rdma) return;
    for (state::Step& step : owed)
        if (auto move = parse_if<MoveRdma>(step); move && move->device == undone.holds.device) {
            move->stayed.push_back(undone.holds.rdma->index);
            step = to_record(*move);
        }
}

} // namespace rdmanet::attach
