// One transaction of etcd v3: conditions, what happens if all of them hold, and what is read if one does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::etcd {

/// What follows every key that begins with `prefix`: the end of a range.
[[nodiscard]] std::string end_of_prefix(std::string prefix);

/// Keys from `key` up to `end`, without it. Without an end just that key.
struct Range {
    enum class Want : std::uint8_t { values, keys, count };

    std::string key;
    std::string end{};
    std::int64_t limit = 0; // 0: none
    Want want = Want::values;

    [[nodiscard]] static Range below(const std::string& prefix, Want want = Want::values) {
        return {.key = prefix, .end = end_of_prefix(prefix), .want = want};
    }
};

struct KeyValue {
    std::string key;
    std::string value;         // empty if only keys were wanted
    std::int64_t revision = 0; // of its last change; every change has another
};

/// The answer to a Range.
struct Found {
    std::vector<KeyValue> entries; // by key
    std::uint64_t count = 0;       // of all, whatever the limit
};

struct Answer {
    bool succeeded = false;    // all conditions held
    std::int64_t revision = 0; // of the store, when this was done: what was put has it
    std::vector<Found> found;  // of the reads, in their order
};

/// Throws json::ParseError, json::ValueError for what is no answer to a transaction.
[[nodiscard]] Answer parse_answer(std::string_view body);

/// Reads are linearizable: etcd asks a majority of its members.
class Transaction {
public:
    /// --max-txn-ops of etcd, for the conditions and for each of the branches.
    static constexpr std::size_t kMostOperations = 128;

    Transaction& if_absent(std::string_view key);
    Transaction& if_none_below(const std::string& prefix);
    Transaction& if_unchanged(std::string_view key, std::int64_t revision);
    /// No key that begins so was written after `revision` of the store.
    Transaction& if_unchanged_below(const std::string& prefix, std::int64_t revision);
    Transaction& if_value(std::string_view key, std::string_view value);

    Transaction& put(std::string_view key, std::string_view value);
    Transaction& remove(std::string_view key);
    Transaction& read(const Range& range);

    Transaction& else_read(const Range& range);

    [[nodiscard]] bool changes() const { return changes_; }
    /// How many reads the answer has.
    [[nodiscard]] std::size_t reads(bool succeeded) const { return succeeded ? reads_ : failure_.size(); }
    /// As the JSON gateway takes it (rpc.proto, TxnRequest).
    [[nodiscard]] std::string to_text() const;

private:
    std::vector<std::string> compare_; // each is JSON
    std::vector<std::string> success_;
    std::vector<std::string> failure_;
    std::size_t reads_ = 0; // in success_
    bool changes_ = false;
};

} // namespace rdmanet::etcd
