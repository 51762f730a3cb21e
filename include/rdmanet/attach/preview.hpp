// What an ADD would do, found out by ADD's own code, for a person who plans a network.
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

    /// Resting ones among them.
    [[nodiscard]] base::Uint128 free_count() const;
};

struct Preview {
    state::AttachmentRecord record;      // as ADD would write it first, but for the leases
    std::vector<std::string> taken_back; // attachments of dead pods that have the device; ADD undoes them first
    std::vector<std::string> actions;    // what it does then, in order
    std::vector<RangeUsage> ranges;      // of the built-in allocator
};

/// Throws what ADD would throw before it changes anything. Makes no file, waits for no lock, changes nothing: what is
/// told may be otherwise when a pod comes.
[[nodiscard]] Preview preview_add(const cni::Request& request, const config::Config& config, const Node& node);

} // namespace rdmanet::attach
