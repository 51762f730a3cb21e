#include <rdmanet/inventory/inventory.hpp>

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

namespace rdmanet::inventory {
namespace {

/// What may be given instead.
std::string known_places(const Inventory& inventory) {
    std::vector<std::string> known;
    for (std::size_t number = 1; number < inventory.namespaces.size(); ++number)
        known.push_back(inventory.namespaces[number].to_string());
    return known.empty() ? "this node has no network namespace but the host's"
                         : fmt::format("give one of {}", base::join(known));
}

[[noreturn]] void refuse_without_namespace(const Inventory& inventory, const std::string& pod) {
    std::vector<std::string> meant;
    for (const Namespace& each : inventory.namespaces)
        if (each.pod.name == pod) meant.push_back(each.to_string());
    throw base::Error(fmt::format("pod {}: expected NAMESPACE/NAME: {}", base::quoted(pod),
                                  meant.empty() ? "no pod of that name is known here"
                                                : fmt::format("give {}", base::join(meant, " or "))));
}

} // namespace

std::optional<std::size_t> find_pod(const Inventory& inventory, const std::string& pod) {
    for (std::size_t number = 1; number < inventory.namespaces.size(); ++number) {
        const Namespace& each = inventory.namespaces[number];
        if (pod == each.to_string() || pod == each.path || pod == each.mount_point ||
            (!each.pod_uid.empty() && pod == each.pod_uid))
            return number;
    }
    if (pod.starts_with('/'))
        throw base::Error(
            fmt::format("{} is not a network namespace of this node: {}", base::quoted(pod), known_places(inventory)));
    const std::size_t slash = pod.find('/');
    if (slash == std::string::npos) refuse_without_namespace(inventory, pod);
    if (slash + 1 == pod.size() || pod.find('/', slash + 1) != std::string::npos)
        throw base::Error(fmt::format("pod {}: expected NAMESPACE/NAME", base::quoted(pod)));
    return std::nullopt;
}

std::size_t get_pod(const Inventory& inventory, const std::string& pod) {
    if (const auto number = find_pod(inventory, pod)) return *number;
    throw base::Error(
        fmt::format("pod {} has no network namespace on this node: {}", base::quoted(pod), known_places(inventory)));
}

} // namespace rdmanet::inventory
