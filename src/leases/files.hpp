// The two files in which this node keeps leases, both rebuilt from the journal if they are damaged.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/ipam/store/block_file.hpp>
#include <rdmanet/leases/leases.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::leases {

/// All leases in the journal, those of younger attachments first. They replace a lost file. `store` is the kind of the
/// store that they are in; empty: the node's own file.
[[nodiscard]] std::vector<ipam::Lease> list_recorded_leases(const state::AttachmentStore& records,
                                                            const std::string& boot_id, std::string_view store = {});

/// The file of the leases in blocks. A new one starts with those in the journal's records of this boot.
[[nodiscard]] ipam::BlockFile open_block_file(const Node& node, const state::AttachmentStore& records);

/// False without a file: then this node has had no block in this boot.
[[nodiscard]] bool has_block_file(const Node& node);

/// The damaged file was moved to `moved`, or is gone.
void log_repair(const Node& node, const ipam::DamagedStore& damage, const std::optional<std::string>& moved);

/// Runs `act`. If the file is damaged, repairs it and runs `act` again.
template <class File, class Act>
auto repairing(File& file, const Node& node, const base::Deadline& deadline, Act act) {
    try {
        return act();
    } catch (const ipam::DamagedStore& damage) {
        log_repair(node, damage, file.repair(deadline));
        return act();
    }
}

} // namespace rdmanet::leases
