// The ranges of which this node has claimed addresses in this boot, in a store that asks a server for each one. With
// them and the journal's topics, another store's ADD finds such leases without reading every record.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

/// A pool, as the journal's records name it.
struct SharedRange {
    std::string store; // "whereabouts"
    std::string space;
    std::string subnet; // LeasePool::network()

    [[nodiscard]] bool overlaps(const ipam::ConfiguredRange& range) const;
    friend bool operator==(const SharedRange&, const SharedRange&) = default;
};

class SharedRanges {
public:
    explicit SharedRanges(const Node& node);

    /// Throws base::SystemError.
    [[nodiscard]] std::vector<SharedRange> list() const;
    /// Adds those of `where` that are new. To be called before the journal's record of a claim. Throws base::SystemError.
    void add(const state::LeaseStore& where) const;

private:
    std::string path_;
};

} // namespace rdmanet::attach
