// Which device is meant.
#include "addressing.hpp"
#include "device.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include <algorithm>
#include <variant>

namespace rdmanet::attach {
namespace {

using base::BusAddress;
using base::concat;
using base::quoted;
using kernel::Link;

[[noreturn]] void refuse_request(const std::string& why) {
    throw cni::CniError(cni::ErrorCode::parent, why);
}

BusAddress address_of(const Link& link) {
    if (const auto address = BusAddress::parse(link.parent_device)) return *address;
    refuse_request(concat("interface ", quoted(link.name), " is of no PCI or auxiliary device, which is what moves",
                          link.kind.empty() ? std::string() : concat(": it is a ", link.kind)));
}

std::optional<Link> find_by_mac(kernel::Socket& route, const base::MacAddress& mac) {
    const auto links = kernel::list_links(route);
    const auto found = std::find_if(links.begin(), links.end(), [&](const Link& link) {
        return link.mac() == mac && !link.parent_device.empty(); // children may have their parent's
    });
    return found == links.end() ? std::nullopt : std::optional(*found);
}

/// A device that a pod has, or that came back from one under the pod's name for it: known by what it was on the host.
std::optional<BusAddress> find_attached(const HostDevice& wanted, const state::AttachmentStore& records) {
    const auto is_meant = [&](const state::KeepDevice& kept) {
        if (wanted.name)
            return kept.name == *wanted.name ||
                   std::count(kept.altnames.begin(), kept.altnames.end(), *wanted.name) != 0;
        return wanted.hwaddr && base::MacAddress::parse(kept.mac) == wanted.hwaddr;
    };
    for (const state::AttachmentRecord& record : records.list().records)
        for (const state::Step& step : record.steps)
            if (const auto* kept = std::get_if<state::KeepDevice>(&step); kept != nullptr && is_meant(*kept))
                return BusAddress::parse(kept->device);
    return std::nullopt;
}

/// Has a name or a MAC.
BusAddress address_of_host_device(const HostDevice& wanted, const state::AttachmentStore& records,
                                  const base::Deadline& deadline) {
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    if (wanted.name) {
        const auto name = base::InterfaceName::parse(*wanted.name);
        const auto link = name ? kernel::find_link(route, *name) : kernel::find_link_by_altname(route, *wanted.name);
        if (link) return address_of(*link);
        if (const auto address = find_attached(wanted, records)) return *address;
        refuse_request(concat("device ", quoted(*wanted.name),
                              " is no interface of the host: set \"device\" to one that `ip link` shows"));
    }
    if (const auto link = find_by_mac(route, *wanted.hwaddr)) return address_of(*link);
    if (const auto address = find_attached(wanted, records)) return *address;
    refuse_request(concat("no interface of the host has hwaddr ", *wanted.hwaddr));
}

/// The interface that earlier plugins made, in the pod.
BusAddress address_of_earlier(const cni::Request& request, PodSide& pod) {
    if (!request.conf.prev_result)
        throw cni::CniError(
            cni::ErrorCode::invalid_network_config,
            "prevResult is missing: \"attach\": \"rdma\" comes behind the plugin that makes the interface");
    for (const cni::Interface& interface : request.conf.prev_result->interfaces)
        if (!interface.sandbox.empty() && interface.name == request.ifname().to_string())
            if (const auto address = BusAddress::parse(interface.pci_id)) return *address;
    if (const auto link = kernel::find_link(pod.route, request.ifname())) return address_of(*link);
    refuse_request(concat("interface ", quoted(request.ifname().to_string()), " isn't in ", request.netns_path,
                          ", the RDMA device of which is to follow it"));
}

} // namespace

// Multus injects the address of the device plugin's choice beside "device" and "hwaddr".
std::optional<BusAddress> find_named_device(const Config& config, const state::AttachmentStore& records,
                                            const base::Deadline& deadline) {
    const auto* wanted = std::get_if<HostDevice>(&config.attach);
    if (wanted == nullptr || (!wanted->name && !wanted->hwaddr)) return config.device;
    const BusAddress named = address_of_host_device(*wanted, records, deadline);
    if (config.device && *config.device != named)
        throw cni::CniError(
            cni::ErrorCode::invalid_network_config,
            concat(wanted->name ? concat("device: ", quoted(*wanted->name)) : concat("hwaddr: ", *wanted->hwaddr),
                   " is device ", named, ", but the device plugin or another key chose ", *config.device,
                   ": remove one of them, or the network's annotation ", "k8s.v1.cni.cncf.io/resourceName"));
    return named;
}

BusAddress find_device_address(const cni::Request& request, const Config& config, PodSide& pod,
                               const state::AttachmentStore& records, const base::Deadline& deadline) {
    if (const auto named = find_named_device(config, records, deadline)) return *named;
    if (config.is_rdma_only()) return address_of_earlier(request, pod);
    if (std::holds_alternative<HostDevice>(config.attach))
        throw cni::CniError(cni::ErrorCode::invalid_network_config,
                            "no device is named: set \"device\", \"hwaddr\", \"kernelpath\" or \"deviceID\"");
    throw cni::CniError(
        cni::ErrorCode::invalid_network_config,
        "deviceID is missing: the network needs a VF for each pod; give the NetworkAttachmentDefinition "
        "the annotation k8s.v1.cni.cncf.io/resourceName, and the pod a request for that resource");
}

} // namespace rdmanet::attach
