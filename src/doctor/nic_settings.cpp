// Settings of Ethernet ports that RoCE needs: its version, MTUs of VFs, flow control, marks of congestion.
#include "checks.hpp"
#include "files.hpp"
#include "ports.hpp"
#include "vfs.hpp"

#include <rdmanet/base/text.hpp>

namespace rdmanet::doctor {
namespace {

using base::shell_word;
using inventory::Device;
using inventory::NetDevice;

/// The kernel's default is RoCE v2 (CMA_PREFERRED_ROCE_GID_TYPE, cma.c). The device's directory in configfs is there
/// if somebody made it (drivers/infiniband/core/cma_configfs.c).
void check_default_roce(const Context& context, Findings& found) {
    for (const Device& device : context.inventory.devices)
        for (const inventory::RdmaDevice& rdma : device.rdma)
            for (const inventory::RdmaPort& port : rdma.ports) {
                const std::string file =
                    fmt::format("/sys/kernel/config/rdma_cm/{}/ports/{}/default_roce_mode", rdma.name, port.number);
                if (line_of(context.path(file)) != "IB/RoCE v1") continue;
                found.warning(subject_of(device),
                              fmt::format("RDMA CM uses RoCE v1 on port {} of {}, expected RoCE v2: routers drop it",
                                          port.number, rdma.name),
                              fmt::format("`echo 'RoCE v2' >{}`", shell_word(file)));
            }
}

/// In switchdev mode the PF also has the representors of its VFs.
const NetDevice* find_uplink(const Device& pf) {
    const bool is_only = pf.net.size() == 1;
    for (const NetDevice& net : pf.net)
        if (is_only || (!pf.rdma.empty() && !pf.rdma.front().ports.empty() &&
                        pf.rdma.front().ports.front().net_device == net.name))
            return &net;
    return nullptr;
}

/// "interface ens1 has MTU 1500, and 2 interfaces of its VFs have more: ens1v0 has 9000".
std::string differ(const Context& context, const NetDevice& uplink, std::size_t count, std::string_view how,
                   const NetDevice& example) {
    const std::string place =
        example.place == 0 ? std::string() : fmt::format(" in {}", context.inventory.namespaces[example.place]);
    return fmt::format("interface {} has MTU {}, and {} of its VFs {} {}: {}{} has {}", uplink.name, uplink.mtu,
                       base::counted(count, "interface", "interfaces"), count == 1 ? "has" : "have", how, example.name,
                       place, example.mtu);
}

void compare_mtus(const Context& context, const Device& pf, const NetDevice& uplink, Findings& found) {
    std::vector<const NetDevice*> smaller;
    std::vector<const NetDevice*> larger;
    for_each_vf(context, pf, [&](const Device& vf) {
        if (!is_roce(vf)) return;
        for (const NetDevice& net : vf.net) {
            if (net.mtu < uplink.mtu) smaller.push_back(&net);
            if (net.mtu > uplink.mtu) larger.push_back(&net);
        }
    });
    if (!larger.empty()) {
        const NetDevice& largest = **std::ranges::max_element(
            larger, [](const NetDevice* one, const NetDevice* other) { return one->mtu < other->mtu; });
        found.warning(
            subject_of(pf),
            fmt::format("{}, so the port may drop packets", differ(context, uplink, larger.size(), "more", largest)),
            fmt::format("`ip link set {} mtu {}`, and the same on the switch", shell_word(uplink.name), largest.mtu));
    }
    if (!smaller.empty())
        found.info(subject_of(pf), differ(context, uplink, smaller.size(), "less", *smaller.front()),
                   fmt::format("for RoCE with the PF's MTU, set \"mtu\": {} in the network of the VFs", uplink.mtu));
}

/// A VF's MTU does not follow its PF's.
void check_vf_mtu(const Context& context, Findings& found) {
    for (const Device& device : context.inventory.devices) {
        if (!has_vfs(device)) continue;
        if (const NetDevice* const uplink = find_uplink(device)) compare_mtus(context, device, *uplink, found);
    }
}

void check_pfc(const Context& context, Findings& found) {
    for_each_port(context, [&](const Device& device, const NetDevice& net, const kernel::FlowControl& flow) {
        if (flow.pfc == 0)
            found.info(subject_of(device),
                       fmt::format("PFC of {} is off for all priorities: RoCE may lose packets under load", net.name),
                       fmt::format("unless the network is tuned for loss: `dcb pfc set dev {} prio-pfc 3:on` for the "
                                   "priority of RoCE, here 3, and the same on the switch",
                                   shell_word(net.name)));
    });
}

void check_pause(const Context& context, Findings& found) {
    for_each_port(context, [&](const Device& device, const NetDevice& net, const kernel::FlowControl& flow) {
        if (flow.pfc != 0 && flow.global_pause)
            found.warning(subject_of(device),
                          fmt::format("{} has PFC and global pause (802.3x), which pauses all priorities", net.name),
                          fmt::format("`ethtool -A {} autoneg off rx off tx off`, and the same on the switch",
                                      shell_word(net.name)));
    });
}

/// The kernel knows it since Linux 6.3, if the driver does. The drivers of NVIDIA's OFED have files for this and the
/// next check.
void check_trust(const Context& context, Findings& found) {
    for_each_port(context, [&](const Device& device, const NetDevice& net, const kernel::FlowControl& flow) {
        const std::string file = fmt::format("/sys/class/net/{}/qos/trust", net.name);
        const bool is_pcp_by_file = line_of(context.path(file)) == "pcp";
        const bool is_pcp = flow.trust ? flow.trust->pcp && !flow.trust->dscp : is_pcp_by_file;
        if (flow.pfc == 0 || has_pfc(flow, 0) || !is_pcp) return;
        found.info(subject_of(device),
                   fmt::format("{} takes the priority from the VLAN tag: packets without a tag have priority 0, whose "
                               "PFC is off",
                               net.name),
                   fmt::format("use a VLAN with a priority, or `{}`, and the same on the switch",
                               flow.trust ? fmt::format("dcb apptrust set dev {} order dscp pcp", shell_word(net.name))
                                          : fmt::format("echo dscp >{}", shell_word(file))));
    });
}

/// NP notifies the sender of marked packets, RP makes the sender slow down.
void check_ecn(const Context& context, Findings& found) {
    for_each_port(context, [&](const Device& device, const NetDevice& net, const kernel::FlowControl& flow) {
        for (unsigned priority = 0; priority < kernel::kPriorities; ++priority) {
            std::vector<std::string> off;
            std::string fix;
            for (const char* part : {"roce_np", "roce_rp"}) {
                const std::string file = fmt::format("/sys/class/net/{}/ecn/{}/enable/{}", net.name, part, priority);
                if (!has_pfc(flow, priority) || line_of(context.path(file)) != "0") continue;
                off.emplace_back(part);
                fix += fmt::format("{}`echo 1 >{}`", fix.empty() ? "" : ", ", shell_word(file));
            }
            if (!off.empty())
                found.info(subject_of(device),
                           fmt::format("ECN ({}) of {} is off for priority {}, which has PFC: congestion stops whole "
                                       "links",
                                       base::join(off), net.name, priority),
                           fix);
        }
    });
}

constexpr Check kNicChecks[] = {
    {{"default-roce", Layer::rdma, "version of RoCE that RDMA CM uses"}, check_default_roce},
    {{"vf-mtu", Layer::network, "MTU of VFs and of their PF"}, check_vf_mtu},
    {{"pfc", Layer::network, "priority flow control of RoCE ports"}, check_pfc},
    {{"pause", Layer::network, "global pause beside priority flow control"}, check_pause},
    {{"trust", Layer::network, "where a port takes the priority from"}, check_trust},
    {{"ecn", Layer::network, "ECN of the priorities that have PFC (OFED)"}, check_ecn},
};

} // namespace

std::span<const Check> nic_checks() {
    return kNicChecks;
}

} // namespace rdmanet::doctor
