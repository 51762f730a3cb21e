// The interfaces of one pod, seen from the node.
#include "checks.hpp"
#include "pod_view.hpp"

#include <rdmanet/base/text.hpp>

#include <algorithm>

namespace rdmanet::doctor {
namespace {

using inventory::Interface;

/// "`nsenter --net=/proc/7/ns/net ip link set net1 up`": the pod's image may have no ip, and its processes no rights.
std::string raising_command(const Context& context, const Interface& interface) {
    return fmt::format("`nsenter --net={} ip link set {} up`", base::shell_word(pod_of(context).path),
                       base::shell_word(interface.net.name));
}

/// The pod has none of the interfaces that rdmanet gave it, or never got one.
void report_no_interface(const Context& context, Findings& found) {
    const inventory::Namespace& pod = pod_of(context);
    const auto records = context.node.records(state::Access::look).list().records;
    const auto record = std::ranges::find_if(records, [&](const state::AttachmentRecord& each) {
        return !pod.pod.name.empty() && each.pod.name == pod.pod.name &&
               each.pod.pod_namespace == pod.pod.pod_namespace;
    });
    if (record == records.end())
        found.failure(pod.to_string(), "the pod has no interface that can use RDMA",
                      "give the pod the annotation k8s.v1.cni.cncf.io/networks with a network of rdmanet");
    else
        found.failure(pod.to_string(),
                      fmt::format("interface {}, which rdmanet attached, is gone", base::quoted(record->key.ifname)),
                      "delete the pod: a controller creates it again");
}

void check_pod_interface(const Context& context, Findings& found) {
    bool any = false;
    for_each_interface(context, [&](const Interface& interface, const std::string& subject) {
        any = true;
        if (!interface.net.is_up)
            found.failure(subject, "the interface is down",
                          fmt::format("{}, or delete the pod", raising_command(context, interface)));
        else if (!interface.net.has_carrier && !interface.pkey) // of IPoIB: pod-ipoib
            found.failure(subject, "the interface has no carrier", "bring the parent or PF up, and check its cable");
        if (interface.addresses.empty() && !interface.network.empty())
            found.warning(subject, "the interface has no address", "give the network an \"ipam\"");
    });
    if (!any) report_no_interface(context, found);
}

/// Only IPv6 has duplicate address detection in the kernel (RFC 4862, section 5.4).
void check_pod_addresses(const Context& context, Findings& found) {
    for_each_interface(context, [&](const Interface& interface, const std::string& subject) {
        for (const base::IpAddress& address : interface.duplicates)
            found.failure(subject, fmt::format("another host has {}, so the kernel does not use it here", address),
                          "look for two ranges that overlap, or a host with an address of the range: \"exclude\" it, "
                          "then delete the pod");
    });
}

bool has_attachment(const Context& context) {
    bool any = false;
    for_each_interface(context, [&](const Interface& interface, const std::string& /*subject*/) {
        any = any || !interface.network.empty();
    });
    return any;
}

/// Functions in the pod that came without rdmanet, beside others that rdmanet has attached.
void check_other_devices(const Context& context, Findings& found) {
    if (context.inventory.mode() != kernel::RdmaNetnsMode::exclusive || !has_attachment(context)) return;
    for_each_interface(context, [&](const Interface& interface, const std::string& subject) {
        if (interface.is_shared || interface.rdma_device.empty() || !interface.network.empty()) return;
        found.info(subject,
                   fmt::format("the pod also has its RDMA device {}, which no network of rdmanet has attached",
                               interface.rdma_device),
                   "NCCL and other programs use all devices that a pod has: if this one is not for them, take it out "
                   "of the pod");
    });
}

void check_pod_rdma(const Context& context, Findings& found) {
    for_each_interface(context, [&](const Interface& interface, const std::string& subject) {
        if (interface.rdma_device.empty())
            found.failure(subject, "no RDMA device carries the interface's packets",
                          "use a parent or device that `rdma link` shows");
        else if (interface.is_shared && context.inventory.mode() == kernel::RdmaNetnsMode::exclusive)
            found.failure(subject,
                          fmt::format("RDMA device {} is on the host, and in mode exclusive the pod cannot see it",
                                      interface.rdma_device),
                          "use a network with \"attach\": \"sriov\", or a node in mode shared");
    });
    check_other_devices(context, found);
}

void check_pod_gids(const Context& context, Findings& found) {
    for_each_interface(context, [&](const Interface& interface, const std::string& subject) {
        if (interface.rdma_device.empty() || found.has_failed(subject)) return;
        for (const base::IpPrefix& address : interface.addresses) {
            const bool has = std::ranges::any_of(interface.gids, [&](const kernel::GidEntry& gid) {
                return gid.netdev.empty() || (gid.address == address.address() && gid.type == kernel::GidType::roce_v2);
            });
            if (!has)
                found.failure(subject,
                              fmt::format("{} has no GID of RoCE v2 on {}:{}", address.address(), interface.rdma_device,
                                          interface.rdma_port),
                              "the GID table may be full: `rdmanet inventory` counts it; else delete the pod");
        }
    });
}

constexpr Check kPodChecks[] = {
    {{"pod-interface", Layer::pod, "interfaces of the pod: up, carrier, address"}, check_pod_interface},
    {{"pod-addresses", Layer::pod, "addresses that another host has, too"}, check_pod_addresses},
    {{"pod-rdma", Layer::pod, "RDMA device behind each interface"}, check_pod_rdma},
    {{"pod-gids", Layer::pod, "GID of each address"}, check_pod_gids},
};

} // namespace

std::span<const Check> pod_checks() {
    return kPodChecks;
}

} // namespace rdmanet::doctor
