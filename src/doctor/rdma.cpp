// RDMA devices, their ports, GIDs and files.
#include "checks.hpp"
#include "files.hpp"
#include "subnet_manager.hpp"

#include <rdmanet/base/guid.hpp>

#include <algorithm>
#include <map>

namespace rdmanet::doctor {
namespace {

using inventory::Device;
using inventory::RdmaDevice;
using inventory::RdmaPort;

template <class Visit>
void for_each_rdma(const Context& context, const Visit& visit) {
    for (const Device& device : context.inventory.devices)
        for (const RdmaDevice& rdma : device.rdma) visit(device, rdma);
}

void check_rdma_devices(const Context& context, Findings& found) {
    if (found.has_failed("")) return;
    bool any = false;
    bool explained = false;
    for (const Device& device : context.inventory.devices) {
        any = any || !device.rdma.empty();
        explained = explained || found.has_failed(subject_of(device));
    }
    if (!any && !explained)
        found.failure("", "the node has no RDMA device, although its drivers are loaded",
                      "check that the cards can RDMA and that it is enabled: firmware settings, and "
                      "`devlink dev param show` for enable_roce");
}

void check_node_guid(const Context& context, Findings& found) {
    for_each_rdma(context, [&](const Device& device, const RdmaDevice& rdma) {
        if (rdma.node_guid == 0)
            found.warning(
                subject_of(device),
                fmt::format("RDMA device {} has no node GUID, so RDMA CM does not work on it", rdma.name),
                "set the VF's MAC (`ip link set PF vf N mac ...`; InfiniBand: node_guid), then bind its driver again");
    });
}

void check_duplicate_guid(const Context& context, Findings& found) {
    std::map<std::uint64_t, std::string> owners;
    for_each_rdma(context, [&](const Device& device, const RdmaDevice& rdma) {
        if (rdma.node_guid == 0 || !device.address) return;
        const auto [at, is_new] = owners.emplace(rdma.node_guid, rdma.name);
        if (!is_new)
            found.failure(subject_of(device),
                          fmt::format("RDMA devices {} and {} have the same node GUID {}", at->second, rdma.name,
                                      base::Guid(rdma.node_guid)),
                          "give the VF another MAC or GUID, then bind its driver again");
    });
}

/// A VF has no link while its PF's interface is down, which "parent-up" finds.
bool has_pf_down(const Context& context, const Device& device) {
    if (!device.pci || !device.pci->pf) return false;
    const auto& devices = context.inventory.devices;
    const auto pf = std::ranges::find_if(
        devices, [&](const Device& each) { return each.pci && each.pci->address == *device.pci->pf; });
    return pf != devices.end() && !pf->net.empty() &&
           std::ranges::none_of(pf->net, [](const inventory::NetDevice& net) { return net.is_up; });
}

/// Whether somebody wants the port: an interface that is up, or InfiniBand.
bool is_wanted(const Context& context, const Device& device, const RdmaPort& port) {
    if (port.link_layer == "InfiniBand") return !device.pci || !device.pci->pf;
    if (has_pf_down(context, device)) return false;
    return std::ranges::any_of(device.net, [&](const inventory::NetDevice& net) {
        return net.is_up && (port.net_device.empty() || port.net_device == net.name);
    });
}

void check_port_state(const Context& context, Findings& found) {
    for_each_rdma(context, [&](const Device& device, const RdmaDevice& rdma) {
        for (const RdmaPort& port : rdma.ports) {
            if (port.state == kernel::PortState::active || !is_wanted(context, device, port) ||
                found.has_failed(subject_of(device)))
                continue;
            const std::string where = fmt::format("port {} of {} is {}", port.number, rdma.name, port.state);
            if (port.link_layer == "InfiniBand" && port.physical_state == "LinkUp")
                found.failure(subject_of(device),
                              fmt::format("{}, with LID {}: {}", where, port.lid.value_or(0), kNoSubnetManager),
                              kSubnetManagerFix);
            else
                found.failure(subject_of(device),
                              fmt::format("{}, physical state {}: it has no link", where, port.physical_state),
                              "check the cable, the switch's port, and that both ends have the same speed and FEC");
        }
    });
}

/// "25 Gb/sec (1X EDR)"; "2.5 Gb/sec (1X)" for SDR (rate_show(), drivers/infiniband/core/sysfs.c). A cable has four
/// lanes or, if it is split, two.
void check_lanes(const Context& context, Findings& found) {
    for_each_rdma(context, [&](const Device& device, const RdmaDevice& rdma) {
        for (const RdmaPort& port : rdma.ports)
            if (port.state == kernel::PortState::active && port.link_layer == "InfiniBand" &&
                port.rate.find("(1X") != std::string::npos)
                found.warning(
                    subject_of(device),
                    fmt::format("port {} of {} runs with one lane of its cable: {}", port.number, rdma.name, port.rate),
                    "clean or replace the cable; `mlxlink` or the switch shows the errors of each lane");
    });
}

void check_gid_table(const Context& context, Findings& found) {
    for_each_rdma(context, [&](const Device& device, const RdmaDevice& rdma) {
        for (const RdmaPort& port : rdma.ports) {
            constexpr std::size_t kEntriesOfPod = 4; // of two addresses with two types
            if (!port.gids || port.link_layer == "InfiniBand" || *port.gids + kEntriesOfPod <= port.most_gids) continue;
            found.warning(
                subject_of(device),
                fmt::format("the GID table of port {} of {} has {} of {} entries: the next pod's addresses {} not fit",
                            port.number, rdma.name, *port.gids, port.most_gids,
                            *port.gids == port.most_gids ? "do" : "may"),
                fmt::format("remove addresses of interfaces on {} (`rdmanet inventory` shows those of pods, `ip addr` "
                            "the host's), or use another parent for new pods; "
                            "\"rdma\": {{\"linkLocalGids\": false}} in the network saves two entries for each pod",
                            port.net_device.empty() ? rdma.name : port.net_device));
        }
    });
}

/// sysfs knows the files. Without udev, or in a container with a copy of /dev, they are missing.
void check_device_files(const Context& context, Findings& found) {
    for_each_rdma(context, [&](const Device& device, const RdmaDevice& rdma) {
        for (const std::string& file : rdma.files)
            if (!exists(context.path(fmt::format("/dev/infiniband/{}", file))))
                found.failure(subject_of(device),
                              fmt::format("/dev/infiniband/{} of RDMA device {} is missing", file, rdma.name),
                              "check that udev runs: `udevadm trigger --subsystem-match=infiniband_verbs`");
    });
}

constexpr Check kRdmaChecks[] = {
    {{"rdma-devices", Layer::rdma, "RDMA devices at all"}, check_rdma_devices},
    {{"node-guid", Layer::rdma, "node GUID of each RDMA device"}, check_node_guid},
    {{"duplicate-guid", Layer::rdma, "two RDMA devices with one node GUID"}, check_duplicate_guid},
    {{"port-state", Layer::rdma, "ports whose interface is up; InfiniBand: subnet manager"}, check_port_state},
    {{"lanes", Layer::rdma, "lanes of InfiniBand cables"}, check_lanes},
    {{"gid-table", Layer::rdma, "room in GID tables that pods share"}, check_gid_table},
    {{"device-files", Layer::rdma, "files in /dev/infiniband"}, check_device_files},
};

} // namespace

std::span<const Check> rdma_checks() {
    return kRdmaChecks;
}

} // namespace rdmanet::doctor
