#include "model/rules.hpp"

#include <array>

namespace rdmanet::model {

std::span<const RuleOff> rules() {
    static constexpr std::array kRules{
        RuleOff{Rule::open_after_post, "open-after-post",
                "after the POST of a block its node reads the AddressRanges again",
                "that read finds the range of the block, whatever happened"},
        RuleOff{Rule::mark_first, "mark-first", "before its first cut a node marks the overlapping pools",
                "the PATCH with the mark is answered, and not done"},
        RuleOff{Rule::leave_out, "leave-out", "a cut leaves out what the marked pools hold",
                "who cuts finds all pools empty"},
        RuleOff{Rule::exclusive_pools, "exclusive-pools", "a range is exclusive if reconcile finds no pool in it",
                "reconcile finds none"},
        RuleOff{Rule::exclusive_blocks, "exclusive-blocks", "and no block of another range", "reconcile finds none"},
        RuleOff{Rule::claim_tests_mark, "claim-tests-mark",
                "a claim in a pool tests in its PATCH that there is no mark", "the test is left out"},
        RuleOff{Rule::claim_tests_uid, "claim-tests-uid", "and that the pool's UID is the one that was checked",
                "a pool that is made again has the former UID"},
        RuleOff{Rule::range_after_pool, "range-after-pool",
                "who starts to use a pool reads the AddressRanges after the pool exists", "that read finds none"},
        RuleOff{Rule::blocks_after_range, "blocks-after-range", "it then reads the AddressBlocks, too",
                "that read finds none"},
        RuleOff{Rule::unmark_range_then_blocks, "unmark-range-then-blocks",
                "a pool is unmarked only after a read of the ranges and then of the blocks",
                "the read of the blocks finds none"},
        RuleOff{Rule::stops, "stops", "nothing is given from a block whose confirmation is old",
                "the node's clock stands still"},
        RuleOff{Rule::etcd, "absent-etcd", "absence is concluded from etcd only",
                "every read is answered from the server's memory"},
        RuleOff{Rule::node_conditional, "node-conditional", "what a node does to a block is conditional on its version",
                "the test is left out"},
        RuleOff{Rule::taker_conditional, "taker-conditional", "and so is what reconcile does",
                "the conditions are left out"},
        RuleOff{Rule::remake_cut, "remake-cut", "a block is made by POST; 409 means that somebody has it",
                "the POST replaces what is there"},
        RuleOff{Rule::unknown, "unknown", "a block with addresses that a namespace has neither goes nor is opened",
                "the node's namespaces are not seen"},
        RuleOff{Rule::file_identity, "file-identity", "rows of a file that was put back are unconfirmed",
                "the file has the inode of before"},
        RuleOff{Rule::lock, "lock", "calls of one node that confirm, cut or give back exclude each other",
                "the lock is not taken"},
    };
    return kRules;
}

} // namespace rdmanet::model
