// All ipvlan children of a parent must have the same mode and flag.
#pragma once

#include "attachment.hpp"

#include <rdmanet/state/step.hpp>

namespace rdmanet::attach {

/// Throws CniError if a living attachment has a child of our parent with another kind, mode or flag. In the kernel,
/// the last ipvlan child that is created sets mode and flag of all of them (ipvlan_link_new(),
/// drivers/net/ipvlan/ipvlan_main.c), so a pod of another network could silently lose its isolation. The parent's lock
/// keeps others from creating such a child until our record is written. Macvlan children each have a mode of their
/// own: for them nothing is checked.
void require_like_siblings(const state::Child& ours, const Attachment& attachment);

} // namespace rdmanet::attach
