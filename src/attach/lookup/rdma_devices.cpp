#include "rdma_devices.hpp"

#include "rdma_users.hpp"

#include <rdmanet/attach/misfit.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/gid.hpp>
#include <rdmanet/kernel/netns_sysfs.hpp>

#include <algorithm>

namespace rdmanet::attach {
namespace {

using base::quoted;
using kernel::RdmaNetnsMode;

std::vector<kernel::GidEntry> gids_of(const kernel::RdmaPort& port, const kernel::Netns* pod) {
    if (pod == nullptr) return kernel::list_gids(port);
    const kernel::NetnsSysfs sysfs(*pod);
    return kernel::list_gids(port, sysfs.path("class/infiniband"));
}

/// The kernel reports the net device only of Ethernet ports. An InfiniBand port is found by its GID.
bool is_on(const kernel::RdmaPort& port, const kernel::Link& link, const kernel::Netns* pod) {
    const auto gid = link.port_gid();
    if (!gid) return port.netdev_ifindex == link.ifindex;
    const auto entries = gids_of(port, pod);
    return std::any_of(entries.begin(), entries.end(),
                       [&](const kernel::GidEntry& entry) { return entry.address == *gid; });
}

} // namespace

RdmaDevices find_rdma_devices(const base::BusAddress& address, kernel::Socket& rdma) {
    return find_rdma_devices(address, rdma, {});
}

RdmaDevices find_rdma_devices(const base::BusAddress& address, kernel::Socket& rdma, const RdmaDevices& known) {
    RdmaDevices devices;
    for (const std::string& name : kernel::rdma_devices_of(address)) {
        const auto at = std::find_if(known.begin(), known.end(), [&](const auto& each) { return each.name == name; });
        if (auto device = at != known.end() ? std::optional(*at) : kernel::find_rdma_device(rdma, name))
            devices.push_back(*std::move(device));
    }
    return devices;
}

RdmaDevices list_in_driver_order(const base::BusAddress& address, kernel::Socket* rdma) {
    RdmaDevices devices = rdma != nullptr ? find_rdma_devices(address, *rdma) : RdmaDevices{};
    sort_in_driver_order(devices);
    return devices;
}

void sort_in_driver_order(RdmaDevices& devices) {
    std::sort(devices.begin(), devices.end(),
              [](const auto& one, const auto& other) { return one.index < other.index; });
}

std::vector<std::string> list_uverbs(const RdmaDevices& devices, kernel::Socket& rdma) {
    std::vector<std::string> names;
    for (const kernel::RdmaDevice& device : devices)
        names.push_back(kernel::find_uverbs(rdma, device.index).value_or(""));
    return names;
}

std::string user_of(const base::BusAddress& address, kernel::Socket* rdma) {
    for (const kernel::RdmaDevice& device : list_in_driver_order(address, rdma))
        if (std::string use = describe_use(*rdma, device); !use.empty()) return use;
    return {};
}

void require_same_uverbs(const std::string& device, const std::string& before, const std::string& after,
                         std::string_view when) {
    if (before == after) return;
    refuse_rdma(
        fmt::format("RDMA device {} became /dev/infiniband/{} {}, but the pod's container was given "
                    "/dev/infiniband/{}: delete the pod, so that the device plugin gives the next pod the right "
                    "file",
                    quoted(device), after, when, before));
}

bool moves_rdma(const config::RdmaPolicy& policy, const kernel::RdmaSystem& system, const std::string& network) {
    if (const auto misfit = find_device_misfit(policy, system, network)) refuse_rdma(misfit->message());
    return policy.isolation.value_or(system.mode() == RdmaNetnsMode::exclusive);
}

void require_mode(const config::RdmaPolicy& policy, const std::string& network, const base::Deadline& deadline) {
    if (policy.demand != config::RdmaDemand::required) return;
    auto rdma = kernel::Socket::find_rdma(deadline);
    if (!rdma) refuse_rdma("no RDMA driver is loaded: load that of the NIC, for example with `modprobe mlx5_ib`");
    (void)moves_rdma(policy, kernel::read_rdma_system(*rdma), network);
}

std::optional<kernel::RdmaPort> find_port_of(kernel::Socket& rdma, const RdmaDevices& devices, const kernel::Link& link,
                                             const kernel::Netns* pod) {
    std::vector<kernel::RdmaPort> ports;
    for (const kernel::RdmaDevice& device : devices)
        for (kernel::RdmaPort& port : kernel::list_rdma_ports(rdma, device)) ports.push_back(std::move(port));
    if (ports.size() == 1) return ports.front();
    const auto found =
        std::find_if(ports.begin(), ports.end(), [&](const kernel::RdmaPort& port) { return is_on(port, link, pod); });
    return found == ports.end() ? std::nullopt : std::optional(*found);
}

std::optional<kernel::RdmaPort> first_port(kernel::Socket& rdma, const kernel::RdmaDevice& device) {
    const auto ports = kernel::list_rdma_ports(rdma, device);
    return ports.empty() ? std::nullopt : std::optional(ports.front());
}

std::optional<kernel::RdmaPort> port_for_gids(kernel::Socket& rdma, const RdmaDevices& devices,
                                              const kernel::Link& link, const kernel::Netns* pod) {
    auto port = find_port_of(rdma, devices, link, pod);
    return port || devices.empty() ? port : first_port(rdma, devices.front());
}

void wait_for_gids_in_pod(const RdmaDevices& devices, std::optional<kernel::RdmaPort> port, const kernel::Link& link,
                          const std::vector<base::IpAddress>& addresses, const Call& call) {
    if (!call.config->rdma.wait_for_gids || devices.empty() || addresses.empty()) return;
    kernel::Socket* const inside = call.pod->find_rdma(call.deadline);
    if (!port && inside != nullptr) port = port_for_gids(*inside, devices, link, &call.pod->netns);
    if (!port) return;
    const kernel::NetnsSysfs sysfs(call.pod->netns);
    wait_for_gids({*port, link.name, sysfs.path("class/infiniband")}, addresses, {}, call);
}

std::vector<base::IpAddress> missing_gids_in_pod(const RdmaDevices& devices, const kernel::Netns& pod,
                                                 const kernel::Link& link,
                                                 const std::vector<base::IpAddress>& addresses,
                                                 const base::Deadline& deadline) {
    auto inside = kernel::Socket::find_rdma_in(pod, deadline);
    const auto port = inside ? port_for_gids(*inside, devices, link, &pod) : std::nullopt;
    if (!port) return addresses;
    const kernel::NetnsSysfs sysfs(pod);
    return missing_gids({*port, link.name, sysfs.path("class/infiniband")}, addresses);
}

} // namespace rdmanet::attach
