#include "device_return.hpp"
#include "kinds.hpp"
#include "link_settings.hpp"
#include "move_link.hpp"

#include "lookup/device_usable.hpp"
#include "lookup/request.hpp"
#include "owners/claims.hpp"
#include "owners/liveness.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/kernel/device.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::quoted;
using kernel::Link;
using state::MoveInterface;

void require_possible_keys(const Link& link, const config::Config& config) {
    if (config.rdma.demand == config::RdmaDemand::required)
        throw cni::CniError(
            cni::ErrorCode::rdma,
            fmt::format("interface {} is virtual ({}) and has no RDMA device, but the network asks for RDMA "
                        "(\"rdma\"): remove \"rdma\", or choose a NIC",
                        quoted(link.name), link.kind));
    if (config.reset)
        throw cni::CniError(cni::ErrorCode::unsupported_field,
                            fmt::format("reset: true is only for devices, but interface {} is virtual ({}): remove it",
                                        quoted(link.name), link.kind));
}

bool has_mac(const Link& link, const std::string& mac) {
    return link.hardware_address_text() == mac;
}

/// Finds the interface by kind and MAC (its own, or the pod's), and by index. It keeps its index in another namespace
/// only if that is free (__dev_change_net_namespace(), net/core/dev.c). Otherwise one of its known names identifies
/// it.
std::optional<Link> find_ours(kernel::Socket& socket, const MoveInterface& step) {
    std::optional<Link> found;
    for (Link& link : kernel::list_links(socket)) {
        if (link.kind != step.kind || link.hardware_address.empty()) continue;
        if (!has_mac(link, step.before.setting("mac")) && !has_mac(link, step.mac_in_pod)) continue;
        if (link.ifindex == step.ifindex) return std::move(link);
        if (link.name == step.before.name || link.name == step.ifname || link.name.starts_with(kNameOnReturn))
            found = std::move(link);
    }
    return found;
}

/// The kernel does not use an index again within one namespace, so an index seen in the pod is enough.
std::optional<Link> find_inside(kernel::Socket& inside, const MoveInterface& step) {
    if (step.ifindex_in_pod == 0) return find_ours(inside, step);
    auto link = kernel::find_link(inside, step.ifindex_in_pod);
    return link && link->kind == step.kind ? link : std::nullopt;
}

FoundInterface find_interface(const Call& call, const std::string& name) {
    if (call.pod != nullptr) require_unclaimed(name, call);
    const auto parsed = base::InterfaceName::parse(name);
    auto link = parsed ? kernel::find_link(*call.host, *parsed) : std::nullopt;
    if (!link)
        refuse_device(quoted(name), "no longer exists on the host, because it was destroyed with the network namespace "
                                    "of its last pod: create it again");
    require_unused_by_node(quoted(name), *link, *call.host);
    return {.link = *std::move(link)};
}

MoveInterface interface_step(const cni::Request& request, const FoundInterface& found, const base::Deadline& deadline,
                             const base::Logger& log) {
    return {.before = keep_link(found.link.name, found.link, deadline, log),
            .kind = found.link.kind,
            .ifindex = found.link.ifindex,
            .ifname = request.ifname().to_string(),
            .mac_in_pod = found.mac ? found.mac->to_string() : found.link.hardware_address_text(),
            .ifindex_in_pod = 0};
}

Link move_interface(const Call& call, const Link& link, const std::optional<base::MacAddress>& mac) {
    auto moved = base::in_context(fmt::format("interface {}", quoted(link.name)),
                                  [&] { return move_into_pod(call, link, mac); });
    if (!moved || moved->kind != link.kind)
        refuse_device(quoted(link.name),
                      fmt::format("is not in {} after the kernel moved it there", call.request->netns_path));
    return *std::move(moved);
}

class MoveInterfaceStep final : public RecordedStep<MoveInterface> {
public:
    MoveInterfaceStep(const FoundInterface& found, MoveInterface step)
        : RecordedStep(std::move(step)), link_(found.link), mac_(found.mac) {}

    void describe(const Call& call, Description& description) const override {
        description.add.push_back(move_text(call, link_));
    }

    void apply(const Call& call, Progress& progress) override {
        progress.link = move_interface(call, link_, mac_);
        progress.has_learned = true;
        step_.ifindex_in_pod = progress.link->ifindex;
        step_.mac_in_pod = progress.link->hardware_address_text();
    }

    void conclude(const Call& /*call*/, const Progress& progress, Conclusion& end) const override {
        conclude_link(*progress.link, end);
    }

private:
    Link link_; // on the host
    std::optional<base::MacAddress> mac_;
};

} // namespace

void MoveInterfaceKind::find(const Call& call, Findings& found) {
    const auto* name = found.moving ? std::get_if<std::string>(&*found.moving) : nullptr;
    if (name == nullptr) return;
    found.interface = find_interface(call, *name);
    const Link& link = found.interface->link;
    require_possible_keys(link, *call.config);
    if (call.pod == nullptr) return;
    require_free_names(quoted(link.name), link, call);
    call.log.warn(
        fmt::format("interface {} is virtual ({}): the kernel destroys it if the pod's network namespace ends "
                    "before DEL",
                    quoted(link.name), link.kind));
    found.interface->mac = wanted_mac(*call.request, *call.config);
}

std::unique_ptr<Step> MoveInterfaceKind::make(const Call& call, const Findings& found) {
    if (!found.interface) return nullptr;
    return std::make_unique<MoveInterfaceStep>(
        *found.interface, interface_step(*call.request, *found.interface, call.deadline, call.log));
}

void MoveInterfaceKind::check(const Comparison& compared) {
    const auto* moved = compared.record.find_step<state::MoveInterface>();
    if (!compared.wanted.is_device() || !moved) return;
    const Link& link = require_link(compared);
    if (link.kind != moved->kind)
        differs(fmt::format("interface {} is of kind {}, expected {}", quoted(link.name), quoted(link.kind),
                            quoted(moved->kind)),
                kDeletePod);
}

std::string MoveInterfaceKind::describe(const Recorded& step) {
    return fmt::format("interface {}", quoted(step.before.name));
}

void MoveInterfaceKind::revert(const Recorded& step, const Undo& undo) {
    kernel::Socket outside = kernel::Socket::open(kernel::Protocol::route, undo.call.deadline);
    if (const auto netns = find_recorded_netns(undo.record, undo.call.netns_path())) {
        kernel::Socket inside = kernel::Socket::open_in(*netns, kernel::Protocol::route, undo.call.deadline);
        if (const auto link = find_inside(inside, step)) {
            const std::string name = move_to_host(*link, step.before.name, inside, outside, kernel::Netns::current());
            const auto home = kernel::find_link(outside, base::InterfaceName::parse(name).value());
            if (!home) throw base::Error("it is not on the host after the kernel moved it there");
            restore_link(outside, *home, step.before, undo.call.log);
            return;
        }
    }
    // It was not moved yet, or is back on the host. If it is not there, the pod or the end of its namespace removed
    // it.
    if (const auto home = find_ours(outside, step)) restore_link(outside, *home, step.before, undo.call.log);
}

} // namespace rdmanet::attach
