#include <rdmanet/ipam/lease.hpp>

#include <rdmanet/base/text.hpp>

namespace rdmanet::ipam {

using base::concat;
using base::quoted;

std::string Owner::pod_identity() const {
    if (!pod_uid.empty()) return pod_uid;
    return pod_name.empty() ? std::string() : concat(pod_namespace, '/', pod_name);
}

std::string Owner::to_string() const {
    const std::string pod =
        pod_name.empty() ? std::string() : concat("pod ", quoted(base::scoped_name(pod_namespace, pod_name)), ", ");
    return concat(pod, "container ", quoted(key.container_id), ", interface ", quoted(key.ifname), ", network ",
                  quoted(key.network));
}

} // namespace rdmanet::ipam
