// Why a network does not fit to this node, as ADD finds out.
#pragma once

#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/rdma.hpp>

#include <optional>
#include <string>

namespace rdmanet::attach {

/// What keeps a pod from what its network asks for.
struct Misfit {
    std::string what;       // "rdma netns mode is exclusive, network "roce" needs shared"
    std::string fix;        // "run `rdma system set netns shared` before any pod starts"
    bool is_refused = true; // by ADD. If not, the pod is attached, and gets no RDMA

    [[nodiscard]] std::string message() const { return what + ": " + fix; }
};

/// Of a network whose RDMA devices move into the pod if the mode allows it, or if the policy asks for that. nullopt if
/// kernel and mode allow what the policy asks for. Asks nobody.
[[nodiscard]] std::optional<Misfit> find_device_misfit(const config::RdmaPolicy& policy,
                                                       const kernel::RdmaSystem& system, const std::string& network);

/// The same for a network of children, which use the parent's RDMA device on the host. Refused only if RDMA is
/// required.
[[nodiscard]] std::optional<Misfit> find_child_misfit(const config::RdmaPolicy& policy, kernel::RdmaNetnsMode mode,
                                                      const std::string& network);

/// Of a parent that cannot have the configured child: its kind and its MTU, not whether it is up. Asks nobody.
[[nodiscard]] std::optional<Misfit> find_parent_misfit(const kernel::Link& parent, const config::Config& config);

} // namespace rdmanet::attach
