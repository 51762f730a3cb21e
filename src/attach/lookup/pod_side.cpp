#include "pod_side.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include <cerrno>
#include <string>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::quoted;

/// What a caller in a container lacks if it cannot see the runtime's path.
std::string fix_in_container(const std::string& path) {
    return fmt::format("if a container calls rdmanet, it needs the node's {}",
                       path.starts_with("/proc/") ? "processes (hostPID)"
                                                  : "/run/netns, with mountPropagation HostToContainer");
}

/// Runtimes remove the namespace of a sandbox that ends, also while an ADD is on its way.
constexpr const char* kSandboxEnded = "if the pod's sandbox has ended, the runtime makes a new one; ";

bool is_gone(const base::Error& error) {
    const auto* refused = dynamic_cast<const base::SystemError*>(&error);
    return refused != nullptr && refused->errno_value() == ENOENT;
}

} // namespace

kernel::Socket* PodSide::find_rdma(const base::Deadline& deadline) {
    if (!rdma) rdma = kernel::Socket::find_rdma_in(netns, deadline);
    return rdma ? &*rdma : nullptr;
}

kernel::Netns open_pod_netns(const cni::Request& request) {
    try {
        kernel::Netns netns = kernel::get_netns(request.netns_path);
        if (netns == kernel::Netns::current() && !request.netns_override)
            throw cni::CniError(cni::ErrorCode::invalid_netns,
                                fmt::format("{} {} is the plugin's own network namespace, expected a pod's: {}",
                                            request.names.netns, quoted(request.netns_path),
                                            fix_in_container(request.netns_path)));
        return netns;
    } catch (const cni::CniError&) {
        throw;
    } catch (const base::Error& error) {
        throw cni::CniError(cni::ErrorCode::invalid_environment,
                            fmt::format("{}: {}: {}{}", request.names.netns, error.what(),
                                        is_gone(error) ? kSandboxEnded : "", fix_in_container(request.netns_path)));
    }
}

PodSide open_pod_side(const cni::Request& request, const base::Deadline& deadline) {
    kernel::Netns netns = open_pod_netns(request);
    kernel::Socket inside = kernel::Socket::open_in(netns, kernel::Protocol::route, deadline);
    return {.netns = std::move(netns), .route = std::move(inside)};
}

} // namespace rdmanet::attach
