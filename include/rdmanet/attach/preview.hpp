// `rdmanet plan`: what ADD would do, found out by ADD's own code.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/ipam/store.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

struct RangeUsage {
    ipam::Range range;
    ipam::Usage usage;

    /// Includes addresses in cooldown.
    [[nodiscard]] base::Uint128 free_count() const;
};

struct Preview {
    state::AttachmentRecord record;      // as ADD would first write it, without the leases
    std::vector<std::string> taken_back; // stale attachments that have the device: ADD reclaims them first
    std::vector<std::string> actions;    // what ADD then does, in order
    std::vector<RangeUsage> ranges;      // of the built-in allocator
};

/// Throws what ADD would throw before it changes anything. Creates no file, waits for no lock and changes nothing, so
/// the node may have changed by the time a pod comes.
[[nodiscard]] Preview preview_add(const cni::Request& request, const config::Config& config, const Node& node);

} // namespace rdmanet::attach
