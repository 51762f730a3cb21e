// IPoIB interfaces of one pod: their broadcast group, partition, mode and MTU.
#include "checks.hpp"
#include "pod_view.hpp"
#include "subnet_manager.hpp"

#include <rdmanet/base/text.hpp>

namespace rdmanet::doctor {
namespace {

using inventory::Interface;
using kernel::IpoibMode;

std::string_view ipoib_mode_name(IpoibMode mode) {
    return mode == IpoibMode::connected ? "connected" : "datagram";
}

std::string port_name(const Interface& interface) {
    return fmt::format("port {} of {}", interface.rdma_port, interface.rdma_device);
}

struct Cause {
    std::string what;
    std::string fix;
};

Cause cause_in_partition(const Interface& interface) {
    if (!kernel::find_partition(interface.pkeys, *interface.pkey))
        return {fmt::format("{} is not a member of partition {:#06x}", port_name(interface), *interface.pkey),
                "add the port's GUID to the partition in the subnet manager's configuration (opensm: partitions.conf), "
                "or give the network another \"pkey\""};
    return {fmt::format("the subnet manager may have no such group for P_Key {:#06x}", *interface.pkey),
            "let it make one (opensm: the flag ipoib of the partition in partitions.conf)"};
}

/// Why an interface that is up does not join. The kernel looks at these in this order (ipoib_ib_dev_open() in
/// ipoib_ib.c, ipoib_mcast_join_task() in ipoib_multicast.c, drivers/infiniband/ulp/ipoib).
Cause cause_of_silence(const Context& context, const Interface& interface) {
    const inventory::RdmaPort* const port = inventory::find_port(context.inventory, interface);
    if (port == nullptr || port->state == kernel::PortState::active) return cause_in_partition(interface);
    const std::string where = fmt::format("{} is {}", port_name(interface), port->state);
    if (port->physical_state == "LinkUp")
        return {fmt::format("{}, because {}", where, kNoSubnetManager), kSubnetManagerFix};
    return {fmt::format("{}, physical state {}", where, port->physical_state),
            "check the cable, and the VF's link state"};
}

/// The kernel gives the interface a carrier when it has joined the group (ipoib_mcast_carrier_on_task(),
/// ipoib_multicast.c). Nothing else shows that: /proc/net/dev_mcast lists the groups that are wanted.
void check_broadcast_group(const Context& context, const Interface& interface, const std::string& subject,
                           Findings& found) {
    if (!interface.net.is_up || interface.net.has_carrier) return;
    const Cause cause = cause_of_silence(context, interface);
    found.failure(subject, fmt::format("it has not joined its broadcast group, so it reaches nobody: {}", cause.what),
                  cause.fix);
}

/// The interface's own P_Key does not tell: the kernel sets bit 15 in it (ipoib_new_child_link(), ipoib_netlink.c).
void check_membership(const Interface& interface, const std::string& subject, Findings& found) {
    const auto entry = kernel::find_partition(interface.pkeys, *interface.pkey);
    if (!entry || (entry->pkey & kernel::kFullMember) != 0) return;
    found.warning(subject,
                  fmt::format("{} is a limited member of its partition (P_Key {:#06x}): other limited members do not "
                              "hear it",
                              port_name(interface), entry->pkey),
                  "if pods shall reach each other, make the port's GUID a full member in the subnet manager's "
                  "configuration (opensm: \"=full\" in partitions.conf)");
}

/// In mode datagram, mlx5 receives a child's packets in buffers of the parent, which are made for the parent's MTU
/// (mlx5i_pkey_init_rx(), drivers/net/ethernet/mellanox/mlx5/core/ipoib/ipoib_vlan.c).
void check_mode_and_mtu(const Interface& interface, const std::string& subject, Findings& found) {
    if (!interface.ipoib_mode || !interface.ipoib_parent) return;
    const auto& parent = *interface.ipoib_parent;
    if (*interface.ipoib_mode != parent.mode)
        found.info(subject,
                   fmt::format("its mode is {}, and that of its parent {} is {}: packets above 4092 bytes reach only "
                               "interfaces in mode connected",
                               ipoib_mode_name(*interface.ipoib_mode), interface.parent, ipoib_mode_name(parent.mode)),
                   "set one \"mode\" for all networks of the partition");
    else if (parent.mode == IpoibMode::datagram && interface.net.mtu > parent.mtu)
        found.warning(
            subject,
            fmt::format("its MTU is {}, and that of its parent {} is {}: NICs may drop larger packets",
                        interface.net.mtu, interface.parent, parent.mtu),
            fmt::format("`ip link set {} mtu {}` on the host", base::shell_word(interface.parent), interface.net.mtu));
}

void check_pod_ipoib(const Context& context, Findings& found) {
    for_each_interface(context, [&](const Interface& interface, const std::string& subject) {
        if (!interface.pkey || found.has_failed(subject)) return;
        check_broadcast_group(context, interface, subject, found);
        if (found.has_failed(subject)) return;
        check_membership(interface, subject, found);
        check_mode_and_mtu(interface, subject, found);
    });
}

constexpr Check kPodIpoibChecks[] = {
    {{"pod-ipoib", Layer::pod, "broadcast group, partition, mode and MTU of IPoIB interfaces"}, check_pod_ipoib},
};

} // namespace

std::span<const Check> pod_ipoib_checks() {
    return kPodIpoibChecks;
}

} // namespace rdmanet::doctor
