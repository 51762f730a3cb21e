// What a look at a cluster has seen at all, so that nobody takes the wrong namespace or cluster for an empty one.
#pragma once

#include <rdmanet/cluster/survey.hpp>
#include <rdmanet/json/writer.hpp>

#include <string>

namespace rdmanet::ops {

/// One line for each thing to say; empty if nothing could be listed.
[[nodiscard]] std::string to_text(const cluster::SeenStores& seen);
/// The member "seen": "namespace", "pools" and "blocks", which are null where the cluster does not know that kind of
/// object. What could not be listed is left out.
void write(json::Writer& writer, const cluster::SeenStores& seen);

} // namespace rdmanet::ops
