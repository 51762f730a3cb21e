// Everything that an ADD finds out and decides before it changes anything.
#pragma once

#include "addressing.hpp"
#include "session.hpp"

#include <rdmanet/attach/config.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/rdma.hpp>

#include <optional>

namespace rdmanet::attach {

/// What was found and decided; nothing has been changed yet.
struct Plan {
    PodSide pod;
    kernel::Link parent;
    std::optional<kernel::RdmaPort> rdma;
    std::optional<base::MacAddress> mac; // absent: the kernel gives the parent's
};

/// Reads the kernel and changes nothing. Throws CniError with the cure for whatever would make the ADD fail later.
[[nodiscard]] Plan make_plan(const cni::Request& request, const Config& config, const Session& session,
                             const base::Deadline& deadline);

/// A passthru macvlan has its parent's MAC when it is born; another one is set afterwards.
[[nodiscard]] bool is_passthru(const Config& config);

/// The link of the plan as the journal describes it, and as the kernel is asked for it.
[[nodiscard]] state::CreateLink link_step(const std::string& ifname, const Config& config, const Plan& plan);
[[nodiscard]] kernel::ChildSpec child_spec(const cni::Request& request, const Config& config, const Plan& plan);

} // namespace rdmanet::attach
