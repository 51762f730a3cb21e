// Creates a macvlan, ipvlan or IPoIB child of a parent.
#pragma once

#include "step.hpp"

#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/kernel/link.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::attach {

struct LockedParent {
    kernel::Link link;
    base::FileLock lock;
};
/// Locks the parent whose children must agree with each other. The lock keeps others from
/// creating one until the record is written. ADD must plan with this parent: during the wait, "master" or the default
/// route may have become another interface, whose children this lock does not protect. nullopt if there is nothing to
/// lock. Throws CniError if there is no parent, base::LockTimeout.
[[nodiscard]] std::optional<LockedParent> lock_parent(const Call& call);

} // namespace rdmanet::attach
