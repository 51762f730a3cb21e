#include "move_link.hpp"

#include "device_return.hpp"
#include "kinds.hpp"

#include "lookup/device_link.hpp"
#include "lookup/device_usable.hpp"
#include "lookup/ipoib.hpp"
#include "lookup/request.hpp"
#include "owners/claims.hpp"
#include "owners/liveness.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/wait.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/link.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::quoted;
using kernel::Link;
using kernel::Socket;
using state::MoveLink;

/// The MAC that must still be set on the net device. With some drivers a VF's MAC follows the PF's setting at once,
/// with others only when the VF is probed again.
std::optional<base::MacAddress> mac_to_set(const config::Config& config, const cni::Request& request, unsigned ifindex,
                                           kernel::Socket& route) {
    const auto wanted = wanted_mac(request, config);
    if (!wanted) return std::nullopt;
    const auto now = kernel::find_link(route, ifindex);
    return now && now->mac() == wanted ? std::nullopt : wanted;
}

/// Moves the link from the host into the pod, where it is down.
Link move_link(const Call& call, const base::BusAddress& address, const Link& link) {
    const auto mac = mac_to_set(*call.config, *call.request, link.ifindex, *call.host);
    auto moved = base::in_context(fmt::format("device {}", address), [&] { return move_into_pod(call, link, mac); });
    if (!moved || kernel::bus_address_of(moved->parent_device) != address)
        refuse_device(address, fmt::format("is not in {} after the kernel moved it there", call.request->netns_path));
    return *std::move(moved);
}

/// Waits for the IPoIB interface that the kernel creates again when the RDMA device has moved, and moves it into the
/// pod if necessary. Since Linux 6.17 the kernel creates it in the pod, earlier kernels on the host
/// (ipoib_intf_init(), drivers/infiniband/ulp/ipoib/ipoib_main.c).
Link follow_rdma(const Call& call, const base::BusAddress& address) {
    constexpr std::chrono::seconds kTimeout{10};
    Socket& pod = call.pod->route;
    auto link = base::wait_for(call.deadline.at_most(kTimeout), [&]() -> std::optional<Link> {
        if (auto there = find_link_inside(address, pod)) {
            kernel::change_link(pod, there->ifindex, {.name = call.request->ifname(), .mtu = call.config->mtu});
            return kernel::find_link(pod, there->ifindex).value_or(*there);
        }
        if (const auto here = find_link_on_host(address, *call.host)) return move_link(call, address, *here);
        return std::nullopt;
    });
    if (!link)
        refuse_device(address, "got no IPoIB interface after its RDMA device moved: look for the reason in `dmesg`");
    return *std::move(link);
}

/// Puts the device's interface in the pod into the result.
void conclude_device(const Call& call, const Link& link, const std::optional<FoundVf>& vf, Conclusion& end) {
    conclude_link(link, end);
    if (link.kind != "ipoib") return;
    const auto pf = vf ? kernel::find_link(*call.host, vf->id.pf_ifindex) : std::nullopt;
    const Link now = kernel::find_link(call.pod->route, link.ifindex).value_or(link);
    end.interface.mtu = mtu_of_device_when_joined(now, pf ? &*pf : nullptr);
}

class MoveLinkStep : public RecordedStep<MoveLink> {
public:
    MoveLinkStep(const FoundDevice& device, MoveLink step)
        : RecordedStep(std::move(step)), address_(device.address), link_(*device.link), vf_(device.vf) {}

    void describe(const Call& call, Description& description) const override {
        description.add.push_back(move_text(call, link_));
    }
    void apply(const Call& call, Progress& progress) override { progress.link = move_link(call, address_, link_); }
    void conclude(const Call& call, const Progress& progress, Conclusion& end) const override {
        conclude_device(call, *progress.link, vf_, end);
    }

protected:
    [[nodiscard]] const base::BusAddress& address() const { return address_; }

private:
    base::BusAddress address_;
    Link link_; // on the host
    std::optional<FoundVf> vf_;
};

/// For InfiniBand. The step of MoveLinkKind undoes it.
class FollowLink final : public MoveLinkStep {
public:
    using MoveLinkStep::MoveLinkStep;

    [[nodiscard]] std::vector<state::Step> recorded() const override { return {}; }
    void apply(const Call& call, Progress& progress) override { progress.link = follow_rdma(call, address()); }
};

/// For a driver for user space, which creates no interface.
class LeaveDevice final : public Step {
public:
    explicit LeaveDevice(base::BusAddress address) : address_(std::move(address)) {}

    void describe(const Call& /*call*/, Description& description) const override {
        description.add.push_back(fmt::format("leave device {} with driver {} and without an interface", address_,
                                              quoted(kernel::driver_of(address_))));
    }

private:
    base::BusAddress address_;
};

/// Warns about configured keys of an interface that the device does not have.
void warn_of_no_interface(const FoundDevice& device, const Call& call) {
    const std::string driver = quoted(kernel::driver_of(device.address));
    for (const auto& [key, on] :
         {std::pair("promisc", call.config->promiscuous), {"allmulti", call.config->all_multicast}})
        if (on)
            call.log.warn(fmt::format("{}: {} is not set, because device {} has driver {} and no interface", key, *on,
                                      device.address, driver));
    if (call.config->mtu)
        call.log.warn(fmt::format("mtu: {} is not set, because device {} has driver {} and no interface",
                                  *call.config->mtu, device.address, driver));
    if (const auto mac = wanted_mac(*call.request, *call.config); mac && !device.vf)
        call.log.warn(fmt::format("mac: {} is not set, because device {} has driver {} and no interface", *mac,
                                  device.address, driver));
}

MoveLink link_step(const Call& call, const FoundDevice& device) {
    return {.device = device.address.to_string(), .ifname = call.request->ifname().to_string()};
}

} // namespace

void MoveLinkKind::find(const Call& call, Findings& found) {
    if (call.pod == nullptr || !found.device || call.config->is_rdma_only()) return;
    const FoundDevice& device = *found.device;
    if (!device.link) return warn_of_no_interface(device, call);
    require_free_names(device.address.to_string(), *device.link, call);
    if (!device.is_infiniband()) return;
    if (const auto mac = wanted_mac(*call.request, *call.config))
        throw cni::CniError(
            cni::ErrorCode::unsupported_field,
            fmt::format("mac: {} cannot be set, because device {} is InfiniBand: set \"guid\"", *mac, device.address));
}

/// Throws if the IPoIB interface has children: the kernel creates the interface again when its RDMA device moves.
void FollowLinkKind::find(const Call& call, Findings& found) {
    if (call.pod == nullptr || !found.device || !found.device->is_infiniband()) return;
    if (!found.device->selection.moving.empty())
        require_no_children(found.device->address, *found.device->link, call, *call.host);
}

std::unique_ptr<Step> MoveLinkKind::make(const Call& call, const Findings& found) {
    if (!found.device || call.config->is_rdma_only()) return nullptr;
    const FoundDevice& device = *found.device;
    if (!device.link) return std::make_unique<LeaveDevice>(device.address);
    // On InfiniBand, applying it does nothing. Undone after the RDMA device's move, it moves the interface back.
    if (device.is_infiniband()) return std::make_unique<RecordedStep<MoveLink>>(link_step(call, device));
    return std::make_unique<MoveLinkStep>(device, link_step(call, device));
}

std::unique_ptr<Step> FollowLinkKind::make(const Call& call, const Findings& found) {
    if (!found.device || !found.device->is_infiniband()) return nullptr;
    return std::make_unique<FollowLink>(*found.device, link_step(call, *found.device));
}

void MoveLinkKind::check(const Comparison& compared) {
    if (!compared.wanted.is_device() || !has_netdev(compared.record)) return;
    const Link& link = require_link(compared);
    const auto& device = compared.wanted.device;
    if (device && kernel::bus_address_of(link.parent_device) != device)
        differs(fmt::format("interface {} is of device {}, expected {}", quoted(link.name), quoted(link.parent_device),
                            *device),
                kDeletePod);
}

std::optional<Link> move_into_pod(const Call& call, const Link& link, const std::optional<base::MacAddress>& mac) {
    const base::InterfaceName name = call.request->ifname();
    const std::string& ifname = name.to_string();
    // The kernel refuses a new name that is already an alternative name of the interface.
    if (std::find(link.altnames.begin(), link.altnames.end(), ifname) != link.altnames.end())
        kernel::remove_altname(*call.host, link.ifindex, ifname);
    kernel::LinkChange change{.mac = mac, .mtu = call.config->mtu, .state = kernel::AdminState::down};
    if (link.name != ifname) change.name = name;
    change.netns = &call.pod->netns;
    kernel::change_link(*call.host, link.ifindex, change);
    return kernel::find_link(call.pod->route, name);
}

void conclude_link(const Link& link, Conclusion& end) {
    end.interface.mac = end.record.wanted->mac = link.hardware_address_text();
    end.interface.mtu = link.mtu;
}

/// If an alternative name is taken in the pod, the kernel refuses the move since Linux 6.6, and in stable kernels
/// before. Older kernels do not check it.
void require_free_names(const std::string& device, const Link& link, const Call& call) {
    for (const std::string& altname : link.altnames)
        if (const auto other = kernel::find_link_by_altname(call.pod->route, altname))
            refuse_device(device,
                          fmt::format("has the alternative name {}, and so has interface {} in {}: remove one of them",
                                      quoted(altname), quoted(other->name), call.request->netns_path));
}

std::string MoveLinkKind::describe(const Recorded& step) {
    return fmt::format("net device of {}", step.device);
}

ByHand MoveLinkKind::by_hand(const Recorded& /*step*/, const base::Deadline& /*deadline*/) {
    return {.text = "the kernel returns it to the host when the pod is gone"};
}

void MoveLinkKind::revert(const Recorded& step, const Undo& undo) {
    const auto address = find_present_device(step.device);
    if (!address) return;
    Socket route = Socket::open(kernel::Protocol::route, undo.call.deadline);
    if (find_link_on_host(*address, route)) return;
    if (const auto netns = find_recorded_netns(undo.record, undo.call.netns_path())) {
        Socket inside = Socket::open_in(*netns, kernel::Protocol::route, undo.call.deadline);
        if (const auto link = find_link_inside(*address, inside)) {
            const auto* kept = undo.record.find_step<state::DeviceBaseline>();
            (void)move_to_host(*link, kept ? kept->link.name : std::string(), inside, route, kernel::Netns::current());
            return;
        }
    }
    if (!has_network_driver(*address)) return;
    if (!wait_for_return(undo, [&] { return find_link_on_host(*address, route); }) && !end_by_unbinding(*address, undo))
        throw base::Error(
            fmt::format("the kernel has not returned the net device of {} to the host: a process or mount may "
                        "still hold the pod's namespace",
                        *address));
}

std::string move_text(const Call& call, const Link& link) {
    const auto mac = wanted_mac(*call.request, *call.config);
    const bool is_new_mac = mac && link.mac() != mac;
    const auto& mtu = call.config->mtu;
    return fmt::format("move interface {} into the pod as {}, MTU {}{}{}", quoted(link.name),
                       quoted(call.request->ifname().to_string()), link.mtu,
                       mtu && *mtu != link.mtu ? fmt::format(" -> {}", *mtu) : std::string(),
                       is_new_mac ? fmt::format(", MAC {} -> {}", link.hardware_address_text(), *mac) : std::string());
}

} // namespace rdmanet::attach
