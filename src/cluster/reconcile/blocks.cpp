#include "held.hpp"

#include "../listing.hpp"

#include <rdmanet/base/format.hpp>

#include <optional>
#include <utility>

namespace rdmanet::cluster {
namespace {

constexpr const char* kAllBlocks = "/apis/rdmanet.cni/v1alpha1/addressblocks";

std::optional<BlockObject> parse_block(const json::Reader& object) try {
    return BlockObject::parse(object);
} catch (const json::ValueError&) { // somebody else made it
    return std::nullopt;
}

} // namespace

Inventory read_blocks(kube::Api& api, const base::Deadline& deadline) {
    Inventory inventory;
    const auto blocks = list_parsed(api, {.path = kAllBlocks}, deadline, parse_block);
    inventory.blocks = {.is_served = blocks.has_value(), .count = blocks ? blocks->size() : 0};
    if (!blocks) return inventory;
    for (const auto& block : *blocks) {
        if (!block) {
            ++inventory.unreadable;
            continue;
        }
        Holder holder;
        holder.node_uid = block->node.uid;
        holder.boot_id = block->node.boot_id;
        holder.node_name = block->node.name;
        inventory.held.push_back(
            {.left = {.kind = "AddressBlock",
                      .object = block->name(),
                      .address = fmt::format("{}/{}", block->block.network(), block->block.length()),
                      .node = block->node.name},
             .holder = std::move(holder),
             .identity = fmt::format("{} {} {}", block->name(), block->uid, block->spec_text()),
             .what = *block});
    }
    return inventory;
}

} // namespace rdmanet::cluster
