// Making a macvlan, ipvlan or IPoIB child of a parent.
#pragma once

#include "check_context.hpp"
#include "context.hpp"
#include "findings.hpp"
#include "kinds.hpp"
#include "step.hpp"

#include "lookup/pod_side.hpp"
#include "lookup/shared_rdma.hpp"
#include "owners/attachment.hpp"

#include <rdmanet/config/config.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/rdma.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::attach {

/// A macvlan, ipvlan or IPoIB child made in the pod's network namespace. Undone by removing the link of this name
/// there, if kind, parent and (macvlan) MAC show that it is ours. An IPoIB child is given back to the host when the
/// namespace goes: there its hardware address identifies it.
struct CreateLink {
    static constexpr std::string_view kKind = kCreateLink;

    state::Child child;
    std::string ifname;   // name in the pod
    unsigned ifindex = 0; // in the pod; 0 until the link was seen

    [[nodiscard]] static CreateLink parse(const json::Reader& reader);
    void write(json::Writer& writer) const;
    [[nodiscard]] state::Holds holds() const { return {.child = child}; }
    [[nodiscard]] std::string describe() const;
    void revert(const RevertContext& context) const;
};

/// The RDMA port that children of the parent, on the host, share; none of an IPoIB interface, whose children have no
/// GIDs of their own. Throws CniError where RDMA is required and can't be had, or the port isn't as the policy wants
/// it.
[[nodiscard]] std::optional<kernel::RdmaPort> find_rdma_of_parent(const kernel::Link& parent,
                                                                  const cni::Request& request,
                                                                  const config::Config& config, const base::Logger& log,
                                                                  const base::Deadline& deadline);

/// Throws CniError, or logs, as the policy says, if the GID table that the parent's children share has no room for
/// the addresses that the configuration gives, or they are more than it lets one have. Another IPAM plugin gives at
/// least one.
void require_gids(const kernel::Link& parent, const kernel::RdmaPort& port, const cni::Request& request,
                  const config::Config& config, const GidHolders& holders, const base::Logger& log);

/// Reads the kernel and changes nothing. Throws CniError with the cure for whatever would make the ADD fail later.
[[nodiscard]] FoundParent plan_child(const cni::Request& request, const config::Config& config,
                                     const Attachment& attachment, PodSide& pod, const base::Deadline& deadline);

/// Null if the attachment needs none.
[[nodiscard]] std::unique_ptr<Step> make_child_link(const AddContext& context, const Findings& found);

/// Throws CniError (code 107) for what differs.
void check_child_link(const CheckContext& context);

} // namespace rdmanet::attach
