// The rules of the protocol. Without any of them a schedule leads to a duplicate, so each is switched off once: by
// what the API server and the node in memory say and do. The product does not know.
#pragma once

#include <cstdint>
#include <span>

namespace rdmanet::model {

enum class Rule : std::uint8_t {
    none,
    open_after_post,
    mark_first,
    leave_out,
    exclusive_pools,
    exclusive_blocks,
    claim_tests_mark,
    claim_tests_uid,
    range_after_pool,
    blocks_after_range,
    unmark_range_then_blocks,
    stops,
    etcd,
    node_conditional,
    taker_conditional,
    remake_cut,
    unknown,
    file_identity,
    lock,
};

struct RuleOff {
    Rule rule;
    const char* name;
    const char* text = nullptr;
    const char* how = nullptr; // it is switched off
};

[[nodiscard]] std::span<const RuleOff> rules();

} // namespace rdmanet::model
