#include "device_find.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/kernel/device.hpp>

#include <algorithm>
#include <variant>

namespace rdmanet::attach {
namespace {

using base::BusAddress;
using base::quoted;
using kernel::Link;

[[noreturn]] void refuse_request(const std::string& why) {
    throw cni::CniError(cni::ErrorCode::parent, why);
}

/// An interface can move if rdmanet can identify it later, by its bus address or because it is virtual. When a
/// namespace ends, the kernel destroys virtual interfaces and returns the others to the host
/// (default_device_exit_batch(), net/core/dev.c). An interface on another kind of bus would return, and nothing would
/// identify it.
Movable movable_of(const Link& link) {
    if (const auto address = kernel::bus_address_of(link.parent_device)) return *address;
    if (!link.kind.empty()) return link.name;
    refuse_request(fmt::format(
        "interface {} cannot move, because it is neither virtual nor on the PCI or auxiliary bus: choose another one",
        quoted(link.name)));
}

/// Whether the interface has no hardware: veth, dummy, bridge and the like.
bool is_virtual(const Link& link) {
    return !link.kind.empty() && !kernel::bus_address_of(link.parent_device);
}

/// Several interfaces may have one MAC, because children may have their parent's. A bus device is preferred.
std::optional<Link> find_by_mac(kernel::Socket& route, const base::MacAddress& mac) {
    std::optional<Link> found;
    for (Link& link : kernel::list_links(route)) {
        if (link.mac() != mac) continue;
        if (!link.parent_device.empty()) return std::move(link);
        if (!found && is_virtual(link)) found = std::move(link);
    }
    return found;
}

/// Finds in the journal a device that a pod has, or that returned with the pod's name, by its name or MAC on the
/// host. Reads all records.
std::optional<Movable> find_attached(const config::HostDevice& wanted, const state::AttachmentStore& records) {
    const auto is_meant = [&](const state::LinkBefore& kept) {
        if (wanted.name)
            return kept.name == *wanted.name ||
                   std::count(kept.altnames.begin(), kept.altnames.end(), *wanted.name) != 0;
        return wanted.hwaddr && base::MacAddress::parse(kept.setting("mac")) == wanted.hwaddr;
    };
    for (const state::AttachmentRecord& record : records.list().records) {
        if (const auto* kept = record.find_step<state::DeviceBaseline>(); kept && is_meant(kept->link))
            if (const auto address = BusAddress::parse(kept->link.device)) return *address;
        if (const auto* moved = record.find_step<state::MoveInterface>(); moved && is_meant(moved->before))
            return moved->before.device;
    }
    return std::nullopt;
}

/// `wanted` must have a name or a MAC.
Movable find_host_device(const config::HostDevice& wanted, const Call& call) {
    kernel::Socket& route = *call.host;
    if (wanted.name) {
        const auto name = base::InterfaceName::parse(*wanted.name);
        const auto link = name ? kernel::find_link(route, *name) : kernel::find_link_by_altname(route, *wanted.name);
        if (link) return movable_of(*link);
        if (const auto attached = find_attached(wanted, call.records)) return *attached;
        refuse_request(
            fmt::format("device {} is not an interface on the host: set \"device\" to one that `ip link` shows",
                        quoted(*wanted.name)));
    }
    if (const auto link = find_by_mac(route, *wanted.hwaddr)) return movable_of(*link);
    if (const auto attached = find_attached(wanted, call.records)) return *attached;
    refuse_request(fmt::format("no interface on the host has hwaddr {}: set \"hwaddr\" to one that `ip link` shows",
                               *wanted.hwaddr));
}

/// The device of the interface that earlier plugins put into the pod.
BusAddress device_of_earlier_interface(const Call& call) {
    const cni::Request& request = *call.request;
    if (!request.conf.prev_result)
        throw cni::CniError(
            cni::ErrorCode::invalid_network_config,
            "prevResult is missing: put \"attach\": \"rdma\" after the plugin that makes the interface");
    for (const cni::Interface& interface : request.conf.prev_result->interfaces)
        if (!interface.sandbox.empty() && interface.name == request.ifname().to_string())
            if (const auto address = BusAddress::parse(interface.pci_id)) return *address;
    if (const auto link = kernel::find_link(call.pod->route, request.ifname())) {
        if (const auto address = kernel::bus_address_of(link->parent_device)) return *address;
        refuse_request(
            fmt::format("interface {} ({}) is not on the PCI or auxiliary bus, so no RDMA device can follow it: "
                        "put \"attach\": \"rdma\" after a plugin that moves a device",
                        quoted(link->name), link->kind.empty() ? "of no kind" : link->kind));
    }
    refuse_request(
        fmt::format("interface {} is not in {}, so no RDMA device can follow it: put \"attach\": \"rdma\" after "
                    "the plugin that moves the interface",
                    quoted(request.ifname().to_string()), request.netns_path));
}

} // namespace

std::string to_string(const Movable& movable) {
    return std::visit([](const auto& concrete) { return fmt::format("{}", concrete); }, movable);
}

// Multus may add the device plugin's choice to a configuration that has "device" or "hwaddr".
std::optional<Movable> find_named_device(const Call& call) {
    const config::Config& config = *call.config;
    const auto* wanted = std::get_if<config::HostDevice>(&config.attach);
    if (wanted == nullptr || (!wanted->name && !wanted->hwaddr))
        return config.device ? std::optional<Movable>(*config.device) : std::nullopt;
    Movable named = find_host_device(*wanted, call);
    if (config.device && named != Movable(*config.device))
        throw cni::CniError(
            cni::ErrorCode::invalid_network_config,
            fmt::format("{} is device {}, but the device plugin or another key chose {}: remove one of them, or the "
                        "network's annotation k8s.v1.cni.cncf.io/resourceName",
                        wanted->name ? fmt::format("device: {}", quoted(*wanted->name))
                                     : fmt::format("hwaddr: {}", *wanted->hwaddr),
                        to_string(named), *config.device));
    return named;
}

Movable find_movable(const Call& call) {
    if (auto named = find_named_device(call)) return *std::move(named);
    if (call.config->is_rdma_only()) return device_of_earlier_interface(call);
    if (std::holds_alternative<config::HostDevice>(call.config->attach))
        throw cni::CniError(cni::ErrorCode::invalid_network_config,
                            "no device is named: set \"device\", \"hwaddr\", \"kernelpath\" or \"deviceID\"");
    throw cni::CniError(
        cni::ErrorCode::invalid_network_config,
        "deviceID is missing: the network needs a VF for each pod; give the NetworkAttachmentDefinition the annotation "
        "k8s.v1.cni.cncf.io/resourceName, and the pod a request for that resource");
}

} // namespace rdmanet::attach
