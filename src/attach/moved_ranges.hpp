// Ranges whose leases `rdmanet ipam migrate` has taken out of the node's own store in this boot, or is taking back. The
// node's own store would give their addresses again, because it asks nobody.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/ipam/lease.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::attach {

class MovedRanges {
public:
    explicit MovedRanges(const Node& node);

    struct Moved {
        base::IpAddress address;
        std::string store;
    };
    /// The first of these leases whose range another store has by now. Throws ipam::StoreError if that can't be read.
    [[nodiscard]] std::optional<Moved> find(const std::vector<ipam::Lease>& leases) const;

    // Only one process at a time may change them. Throw base::Error.
    void add(const ipam::Config& network, std::string_view store) const;
    void remove(const ipam::Config& network) const;

private:
    struct Entry {
        std::string space;
        base::IpAddress first;
        base::IpAddress last;
        std::string store;
        [[nodiscard]] bool contains(const std::string& its_space, const base::IpAddress& address) const;
    };
    [[nodiscard]] std::vector<Entry> read() const;
    void write(const std::vector<Entry>& entries) const;

    std::string path_;
};

} // namespace rdmanet::attach
