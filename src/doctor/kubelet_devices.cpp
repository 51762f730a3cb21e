// Resources that device plugins registered with the kubelet, and the pods that got their devices.
#include "checks.hpp"
#include "kubelet.hpp"

#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <cctype>

namespace rdmanet::doctor {
namespace {

bool is_number(const std::string& id) {
    return !id.empty() && std::ranges::all_of(id, [](unsigned char digit) { return std::isdigit(digit) != 0; });
}

bool has_name(const inventory::Device& device, const std::string& id) {
    const auto is_called = [&](const auto& part) { return part.name == id; };
    return (device.address && device.address->to_string() == id) || std::ranges::any_of(device.net, is_called) ||
           std::ranges::any_of(device.rdma, is_called);
}

/// Whether a resource has network devices: by its name, or by its devices' IDs. Plugins for shared RDMA devices call
/// them "0", "1", and so on. A resource of another kind with such a name hides a finding. An unknown name costs a
/// warning.
bool is_of_network(const inventory::Inventory& inventory, const std::string& resource,
                   const std::vector<std::string>& ids) {
    const std::string name = base::to_lower(resource);
    for (const char* word :
         {"rdma", "roce", "hca", "infiniband", "sriov", "netdev", "hostdev", "mellanox", "mlnx", "mlx5"})
        if (name.find(word) != std::string::npos) return true;
    return std::ranges::any_of(ids, [&](const std::string& id) {
        return is_number(id) || std::ranges::any_of(inventory.devices, [&](const inventory::Device& device) {
                   return has_name(device, id);
               });
    });
}

bool has_active_port(const inventory::RdmaDevice& device) {
    return std::ranges::any_of(device.ports,
                               [](const inventory::RdmaPort& port) { return port.state == kernel::PortState::active; });
}

/// Whether a port is active: the drivers, and the link, are as they should be.
bool rdma_works(const inventory::Inventory& inventory) {
    return std::ranges::any_of(inventory.devices, [](const inventory::Device& device) {
        return std::ranges::any_of(device.rdma, has_active_port);
    });
}

constexpr const char* kLookAtPlugin =
    "check that the pod of the device plugin runs here (`kubectl get pods -A -o wide`): its node selector, tolerations "
    "and log";

/// A node whose drivers work and whose device plugin is kept away looks healthy, but no pod for RDMA is scheduled to
/// it.
void check_resources(const Context& context, Findings& found) {
    const auto& resources = context.kubelet.devices().resources;
    bool any = false;
    std::vector<std::string> names;
    for (const auto& [resource, ids] : resources) {
        names.push_back(resource);
        const bool of_network = is_of_network(context.inventory, resource, ids);
        any = any || of_network;
        if (!ids.empty()) continue;
        const std::string what = fmt::format("the device plugin of resource {} has no healthy device, so pods that ask "
                                             "for it are not scheduled to this node",
                                             resource);
        if (of_network)
            found.warning("", what, kLookAtPlugin);
        else
            found.info("", what); // KubeVirt registers resources of hardware that a node need not have
    }
    if (any || !rdma_works(context.inventory)) return; // without RDMA a node has nothing for such a plugin
    if (resources.empty())
        found.warning("",
                      "RDMA works on this node, but no device plugin has registered a resource with the kubelet of "
                      "this node",
                      kLookAtPlugin);
    else
        found.warning("",
                      fmt::format("RDMA works on this node, but none of the resources of its kubelet has network "
                                  "devices: {}",
                                  base::join(names)),
                      kLookAtPlugin);
}

/// The pod that has a device in its network namespace, if its name or UID is known.
const inventory::Namespace* owner_of(const Context& context, const inventory::Device& device) {
    if (!device.address || device.net.empty() || device.net.front().place == 0) return nullptr;
    const inventory::Namespace& owner = context.inventory.namespaces[device.net.front().place];
    return owner.pod.uid.empty() && owner.pod_uid.empty() ? nullptr : &owner;
}

/// "shop/till", as the socket calls a pod; empty if only its UID is known.
std::string name_of(const inventory::Namespace& owner) {
    return owner.pod.name.empty() ? std::string() : base::scoped_name(owner.pod.pod_namespace, owner.pod.name);
}

/// Whom the kubelet gave the device that `owner` has; empty if that is right, or is not known. The file keeps entries
/// of pods that have ended, so one of them proves nothing if another one is right.
std::string other_owner(const KubeletDevices& kubelet, const std::string& device, const inventory::Namespace& owner) {
    const std::string name = name_of(owner);
    const bool by_name = kubelet.knows_names && !name.empty();
    std::string other;
    for (const Allocation& each : kubelet.allocations) {
        if (each.device != device || each.pod.empty() == by_name) continue;
        const bool is_owner =
            by_name ? each.pod == name : each.pod_uid == owner.pod.uid || each.pod_uid == owner.pod_uid;
        if (is_owner) return {};
        other = by_name ? each.pod : fmt::format("the pod with UID {}", each.pod_uid);
    }
    return other;
}

void check_allocations(const Context& context, Findings& found) {
    const KubeletDevices& kubelet = context.kubelet.devices();
    for (const inventory::Device& device : context.inventory.devices) {
        const inventory::Namespace* owner = owner_of(context, device);
        if (owner == nullptr) continue;
        const std::string other = other_owner(kubelet, device.address->to_string(), *owner);
        if (!other.empty())
            found.failure(subject_of(device), fmt::format("{} has it, but the kubelet gave it to {}", *owner, other),
                          "let the device plugin choose the device: a network with \"deviceID\" must be for one pod, "
                          "and its device must not be in the plugin's resource");
    }
}

constexpr Check kKubeletDeviceChecks[] = {
    {{"resources", Layer::cluster, "resources that device plugins registered with the kubelet"}, check_resources},
    {{"allocations", Layer::cluster, "devices of pods, and to whom the kubelet gave them"}, check_allocations},
};

} // namespace

std::span<const Check> kubelet_device_checks() {
    return kKubeletDeviceChecks;
}

} // namespace rdmanet::doctor
