// Ranges whose leases `rdmanet ipam migrate` has taken out of the node's own store in this boot, or is taking back. The
// node's own store would give their addresses again, because it asks nobody.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/ipam/lease.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::attach {

class MovedRanges {
public:
    explicit MovedRanges(const Node& node);

    /// Addresses that another store has by now.
    struct Moved {
        base::IpAddress first;
        base::IpAddress last;
        std::string store;
        /// Of an ADD that would take one of them from the node's own store.
        [[nodiscard]] ipam::StoreError refusal() const;
    };
    // These throw ipam::StoreError if that can't be read.

    /// Those that have one of these leases.
    [[nodiscard]] std::optional<Moved> find(const std::vector<ipam::Lease>& leases) const;
    /// Those that have all of one of the network's ranges.
    [[nodiscard]] std::optional<Moved> find(const ipam::Config& network) const;

    // Only one process at a time may change them. Throw base::Error.
    void add(const ipam::Config& network, std::string_view store) const;
    void remove(const ipam::Config& network) const;

private:
    struct Entry {
        std::string space;
        Moved moved;
        [[nodiscard]] bool contains(const std::string& its_space, const base::IpAddress& address) const;
        [[nodiscard]] bool contains(const Entry& other) const;
    };
    [[nodiscard]] static Entry entry_of(const ipam::ConfiguredRange& range, std::string_view store);
    [[nodiscard]] std::vector<Entry> read() const;
    void write(const std::vector<Entry>& entries) const;

    std::string path_;
};

} // namespace rdmanet::attach
