// All ipvlan children of a parent must have the same mode and flag.
#pragma once

#include "call.hpp"

#include <rdmanet/state/step.hpp>

#include <string_view>

namespace rdmanet::attach {

/// Whether children of this kind must agree with the other children of their parent, as far as rdmanet sees them: a
/// parent in a pod has no other attachments' children.
[[nodiscard]] bool must_agree_with_siblings(std::string_view kind, bool parent_in_pod);

/// Throws CniError if a living attachment has a child of our parent with another kind, mode or flag. In the kernel,
/// the last ipvlan child that is created sets mode and flag of all of them (ipvlan_link_new(),
/// drivers/net/ipvlan/ipvlan_main.c), so a pod of another network could silently lose its isolation. The parent's lock
/// keeps others from creating such a child until our record is written. Macvlan children each have a mode of their
/// own: for them nothing is checked.
void require_like_siblings(const state::Child& ours, const Call& call);

} // namespace rdmanet::attach
