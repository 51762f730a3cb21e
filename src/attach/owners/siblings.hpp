// The other children of an ipvlan child's parent.
#pragma once

#include "attachment.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/file_lock.hpp>

#include <optional>

namespace rdmanet::attach {

/// All ipvlan children of a parent have one mode and one flag, and the last child that is made decides for all of them
/// (drivers/net/ipvlan/ipvlan_main.c, ipvlan_link_new()): a pod of another network would silently lose its isolation.
/// Throws CniError if the journal knows a living child of our parent of another kind, mode or flag. The lock that
/// comes back keeps others from making such a child until our record is written. Macvlan children each have their own
/// mode: nothing is looked at, no lock.
[[nodiscard]] std::optional<base::FileLock>
agree_with_siblings(const state::CreateLink& ours, const Attachment& attachment, const base::Deadline& deadline);

} // namespace rdmanet::attach
