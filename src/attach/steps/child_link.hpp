// Making a macvlan, ipvlan or IPoIB child of a parent.
#pragma once

#include "check_context.hpp"
#include "context.hpp"
#include "findings.hpp"
#include "kinds.hpp"
#include "step.hpp"

#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

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

/// The parent whose lock ADD takes before it looks at the parent's children: the lock keeps others from making one
/// until the record is written (owners/siblings.hpp). nullopt where children need not agree with each other.
struct ParentToLock {
    unsigned ifindex = 0;
    std::string name;
};
[[nodiscard]] std::optional<ParentToLock> find_parent_to_lock(const AddContext& context);

/// Throws CniError for a child that its siblings forbid.
void find_child_link(const PlanContext& context, Findings& found);

/// Null if the attachment needs none.
[[nodiscard]] std::unique_ptr<Step> make_child_link(const AddContext& context, const Findings& found);

/// Throws CniError (code 107) for what differs.
void check_child_link(const CheckContext& context);

} // namespace rdmanet::attach
