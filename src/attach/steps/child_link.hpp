// Creates a macvlan, ipvlan or IPoIB child of a parent.
#pragma once

#include "context.hpp"
#include "kinds.hpp"
#include "step.hpp"

#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/kernel/link.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::attach {

/// A child was created in the pod's network namespace. Undoing it removes the link there, if kind, parent and
/// (macvlan) MAC show that it is ours. The kernel returns an IPoIB child to the host when the namespace ends; there
/// its hardware address identifies it.
struct CreateLink {
    static constexpr std::string_view kKind = kCreateLink;

    state::Child child;
    std::string ifname;   // name in the pod
    unsigned ifindex = 0; // in the pod; 0 before ADD knew it

    [[nodiscard]] static CreateLink parse(const json::Reader& reader);
    void write(json::Writer& writer) const;
    [[nodiscard]] state::Holds holds() const { return {.child = child}; }
    [[nodiscard]] std::string describe() const;
    [[nodiscard]] ByHand by_hand(const base::Deadline& deadline) const;
    void revert(const RevertContext& context) const;
};

struct LockedParent {
    kernel::Link link;
    base::FileLock lock;
};
/// Locks the parent whose children must agree with each other (owners/siblings.hpp). The lock keeps others from
/// creating one until the record is written. ADD must plan with this parent: during the wait, "master" or the default
/// route may have become another interface, whose children this lock does not protect. nullopt if there is nothing to
/// lock. Throws CniError if there is no parent, base::LockTimeout.
[[nodiscard]] std::optional<LockedParent> lock_parent(const AddContext& context);

} // namespace rdmanet::attach
