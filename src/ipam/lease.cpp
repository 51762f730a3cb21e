#include <rdmanet/ipam/lease.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/base/text.hpp>

namespace rdmanet::ipam {

using base::quoted;

std::string Owner::pod_identity() const {
    if (!pod_uid.empty()) return pod_uid;
    return pod_name.empty() ? std::string() : fmt::format("{}/{}", pod_namespace, pod_name);
}

std::uint64_t Owner::name_hash() const {
    if (pod_name.empty()) return 0;
    return base::hash64(fmt::format("{}/{}/{}/{}", pod_namespace, pod_name, key.ifname, key.network));
}

std::string Owner::to_string() const {
    const std::string pod =
        pod_name.empty() ? std::string() : fmt::format("pod {}, ", quoted(base::scoped_name(pod_namespace, pod_name)));
    const std::string node = other_node.empty() ? std::string() : fmt::format(", node {}", quoted(other_node));
    return fmt::format("{}container {}, interface {}, network {}{}", pod, quoted(key.container_id), quoted(key.ifname),
                       quoted(key.network), node);
}

} // namespace rdmanet::ipam
