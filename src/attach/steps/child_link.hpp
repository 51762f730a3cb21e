// Making a macvlan, ipvlan or IPoIB child of a parent.
#pragma once

#include "context.hpp"

#include "lookup/pod_side.hpp"
#include "lookup/shared_rdma.hpp"
#include "owners/attachment.hpp"

#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/rdma.hpp>

#include <optional>

namespace rdmanet::attach {

/// What was found out about a child to be.
struct ChildPlan {
    kernel::Link parent;
    std::optional<kernel::RdmaPort> rdma;
    std::optional<base::MacAddress> mac; // absent: the kernel gives the parent's
    std::optional<base::FileLock> claim; // of the parent, until the record is written; see siblings.hpp
};

/// The RDMA port that children of the parent, on the host, share; none of an IPoIB interface, whose children have no
/// GIDs of their own. Throws CniError where RDMA is required and can't be had, or the port isn't as the policy wants
/// it.
[[nodiscard]] std::optional<kernel::RdmaPort> find_rdma_of_parent(const kernel::Link& parent,
                                                                  const cni::Request& request,
                                                                  const config::Config& config, const base::Logger& log,
                                                                  const base::Deadline& deadline);

/// Throws CniError, or logs, as the policy says, if the GID table that the parent's children share has no room for the
/// addresses that the configuration gives, or they are more than it lets one have. Another IPAM plugin gives at least
/// one.
void require_gids(const kernel::Link& parent, const kernel::RdmaPort& port, const cni::Request& request,
                  const config::Config& config, const GidHolders& holders, const base::Logger& log);

/// Reads the kernel and changes nothing. Throws CniError with the cure for whatever would make the ADD fail later.
[[nodiscard]] ChildPlan plan_child(const cni::Request& request, const config::Config& config,
                                   const Attachment& attachment, PodSide& pod, const base::Deadline& deadline);

/// The child as the journal describes it.
[[nodiscard]] state::CreateLink child_step(const cni::Request& request, const config::Config& config,
                                           const ChildPlan& plan);

/// Makes it; it is down. Throws CniError with the cure for what only the kernel can find out.
[[nodiscard]] kernel::Link create_child(const cni::Request& request, const config::Config& config,
                                        const ChildPlan& plan, PodSide& pod, const base::Deadline& deadline);

void revert_step(const state::CreateLink& step, const RevertContext& context);

} // namespace rdmanet::attach
