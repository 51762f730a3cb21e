// Whether the pod that was asked for is on this node.
#include "checks.hpp"

#include <rdmanet/base/text.hpp>

#include <algorithm>

namespace rdmanet::doctor {
namespace {

/// Attachments of the pod that rdmanet has on record.
std::size_t count_records(const Context& context) {
    const auto listing = context.node.records(state::Access::look).list();
    return static_cast<std::size_t>(std::ranges::count_if(listing.records, [&](const state::AttachmentRecord& record) {
        return base::scoped_name(record.pod.pod_namespace, record.pod.name) == context.missing_pod;
    }));
}

/// "`kubectl describe pod -n shop till`"
std::string description_command(const std::string& pod) {
    const std::size_t slash = pod.find('/');
    return fmt::format("`kubectl describe pod -n {} {}`", base::shell_word(pod.substr(0, slash)),
                       base::shell_word(pod.substr(slash + 1)));
}

/// rdmanet's records name the pods that it attached. Of others only the UID is known, from their cgroup.
bool has_pod_without_name(const inventory::Inventory& inventory) {
    return std::ranges::any_of(inventory.namespaces, [](const inventory::Namespace& each) {
        return each.pod.name.empty() && !each.pod_uid.empty();
    });
}

/// What may be of the pod, and was not seen; empty if all was. Without root, /proc does not show the network namespaces
/// of others' processes.
std::string unseen_part(const inventory::Inventory& inventory) {
    if (!inventory.unseen.empty()) return inventory.unseen.front();
    for (const inventory::Namespace& each : inventory.namespaces)
        if (!each.trouble.empty()) return fmt::format("{} ({})", each, each.trouble);
    return {};
}

void check_pod_found(const Context& context, Findings& found) {
    if (context.pod) return;
    const std::string& pod = context.missing_pod;
    if (const std::size_t records = count_records(context)) {
        found.failure(
            pod,
            fmt::format("the pod is dead: its network namespace is gone, and rdmanet still has {} of it",
                        base::counted(records, "attachment", "attachments")),
            fmt::format("`rdmanet gc` takes back what it had; if the pod should run: {}", description_command(pod)));
        return;
    }
    if (const std::string unseen = unseen_part(context.inventory); !unseen.empty()) {
        found.warning(pod, fmt::format("it is not known whether the pod runs here. Not seen: {}", unseen),
                      "run `rdmanet doctor` as root on the node, in its PID namespace");
        return;
    }
    std::string fix = fmt::format("{} shows its node and its events: look a message up with "
                                  "`rdmanet doctor explain \"MESSAGE\"`",
                                  description_command(pod));
    if (has_pod_without_name(context.inventory))
        fix += "; if it runs here without an interface of rdmanet, give its UID: `rdmanet doctor --pod UID`";
    found.failure(
        pod, "no network namespace on this node is known as this pod's: it has not started here, or runs elsewhere",
        fix);
}

constexpr Check kPodPresenceChecks[] = {
    {{"pod-found", Layer::pod, "network namespace of the pod on this node"}, check_pod_found},
};

} // namespace

std::span<const Check> pod_presence_checks() {
    return kPodPresenceChecks;
}

} // namespace rdmanet::doctor
