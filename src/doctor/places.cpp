// Network namespaces that have functions of the node.
#include "checks.hpp"

#include <rdmanet/base/text.hpp>

#include <algorithm>

namespace rdmanet::doctor {
namespace {

std::string place_of(const Context& context, std::size_t place) {
    return place == 0 ? "on the host" : fmt::format("in {}", context.inventory.namespaces[place]);
}

/// How the devices in a namespace come back to the host: the kernel returns them when the namespace ends
/// (default_device_exit_net(), net/core/dev.c; rdma_dev_exit_net(), drivers/infiniband/core/device.c).
std::string ending_of(const inventory::Namespace& place) {
    constexpr std::string_view kNamed = "/run/netns/";
    if (!place.pod.name.empty() || !place.pod_uid.empty()) return "delete the pod";
    if (place.mount_point.starts_with(kNamed))
        return fmt::format("`ip netns del {}`", base::shell_word(place.mount_point.substr(kNamed.size())));
    if (!place.mount_point.empty()) return fmt::format("`umount {}`", base::shell_word(place.mount_point));
    return "delete the pod";
}

/// A device whose net and RDMA devices are in two namespaces works in neither.
void check_apart(const Context& context, Findings& found) {
    if (context.inventory.mode() != kernel::RdmaNetnsMode::exclusive) return;
    for (const inventory::Device& device : context.inventory.devices) {
        if (device.net.empty() || device.rdma.empty()) continue;
        const std::size_t net = device.net.front().place;
        const auto away =
            std::ranges::find_if(device.rdma, [&](const inventory::RdmaDevice& rdma) { return rdma.place != net; });
        if (away == device.rdma.end()) continue;
        found.failure(subject_of(device),
                      fmt::format("its net device is {}, and its RDMA device {} is {}: RDMA works in neither",
                                  place_of(context, net), away->name, place_of(context, away->place)),
                      fmt::format("{}, which brings both to the host; for new pods let one plugin move both: "
                                  "\"attach\": \"sriov\", or \"attach\": \"rdma\" behind another plugin",
                                  ending_of(context.inventory.namespaces[net != 0 ? net : away->place])));
    }
}

/// A namespace whose pod was lost keeps its function for ever. Between two runs of its containers, a pod has no process
/// either if its runtime has no pause container, so only a person can tell.
void check_strays(const Context& context, Findings& found) {
    for (const inventory::Device& device : context.inventory.devices) {
        if (device.net.empty() || device.net.front().place == 0) continue;
        const inventory::Namespace& place = context.inventory.namespaces[device.net.front().place];
        if (place.mount_point.empty() || !place.pod.name.empty() || !place.pod_uid.empty() || !place.trouble.empty())
            continue;
        found.info(subject_of(device),
                   fmt::format("its net device is in {}, which has no process now and no attachment of rdmanet", place),
                   fmt::format("if no pod has it (`crictl pods`): {}, which brings its devices to the host",
                               ending_of(place)));
    }
}

constexpr Check kPlaceChecks[] = {
    {{"apart", Layer::rdma, "net and RDMA device of a function in one namespace"}, check_apart},
    {{"strays", Layer::rdma, "functions in namespaces without a pod"}, check_strays},
};

} // namespace

std::span<const Check> place_checks() {
    return kPlaceChecks;
}

} // namespace rdmanet::doctor
