#include "pod_side.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include <string>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::quoted;

/// What a caller in a container lacks if it cannot see the runtime's path.
std::string cure_for_netns(const std::string& path) {
    if (path.starts_with("/proc/")) return "; a container that calls rdmanet needs the node's processes (hostPID)";
    return "; a container that calls rdmanet needs the node's /run/netns, with mountPropagation HostToContainer";
}

} // namespace

kernel::Netns open_pod_netns(const cni::Request& request) {
    try {
        kernel::Netns netns = kernel::get_netns(request.netns_path);
        if (netns == kernel::Netns::current() && !request.netns_override)
            throw cni::CniError(cni::ErrorCode::invalid_netns,
                                fmt::format("{} {} is the plugin's own network namespace, expected a pod's{}",
                                            request.names.netns, quoted(request.netns_path),
                                            cure_for_netns(request.netns_path)));
        return netns;
    } catch (const cni::CniError&) {
        throw;
    } catch (const base::Error& error) {
        throw cni::CniError(
            cni::ErrorCode::invalid_environment,
            fmt::format("{}: {}{}", request.names.netns, error.what(), cure_for_netns(request.netns_path)));
    }
}

PodSide open_pod_side(const cni::Request& request, const base::Deadline& deadline) {
    kernel::Netns netns = open_pod_netns(request);
    kernel::Socket inside = kernel::Socket::open_in(netns, kernel::Protocol::route, deadline);
    return {.netns = std::move(netns), .route = std::move(inside)};
}

} // namespace rdmanet::attach
