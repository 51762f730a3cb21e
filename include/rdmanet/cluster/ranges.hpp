// AddressRanges: the ranges that an administrator has declared, and from which nodes get blocks. All others are pools.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/cluster/place.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/ipam/store/block_file.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/kube/api.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rdmanet::cluster {

/// How long a node may go on with its blocks while the server confirms nothing, unless the range says it.
inline constexpr std::chrono::seconds kGoneAfter{3600};
inline constexpr std::chrono::seconds kLeastGoneAfter{600};

struct AddressRange {
    std::string name; // of the object
    std::string uid;
    std::string space; // spec.networkName
    base::IpPrefix subnet;
    unsigned block_size = 16;
    std::optional<base::IpPrefix> requestable{};
    std::chrono::seconds gone_after = kGoneAfter;
    bool is_going = false; // somebody has deleted it
    // Its status: how many blocks of the range there were, outside of `requestable`, when reconcile last ran, and how many
    // of these without a lease.
    std::optional<std::uint64_t> blocks{};
    std::optional<std::uint64_t> empty_blocks{};
    // And it has found no pool and no block of another range with addresses of it, so nodes need not look for them.
    bool is_exclusive = false;
};

/// An AddressRange that counts for nothing.
struct IgnoredRange {
    std::string name;
    std::string why;
};

/// Never throws: a range that can't be used is ignored, and says why.
[[nodiscard]] std::variant<AddressRange, IgnoredRange> parse_range(const json::Reader& object);

struct DeclaredRanges {
    std::vector<AddressRange> declared{};
    std::vector<IgnoredRange> ignored{};
    bool is_served = true; // the server knows AddressRanges
};

/// The AddressRange that has all addresses of the range; nullptr: none has any. Throws ipam::StoreError if one has
/// only a part of them, or if several overlap: both are named.
[[nodiscard]] const AddressRange* find_cover(const DeclaredRanges& ranges, const Place& place);

/// From the server's memory, which may be out of date: for work that is looked at again. Throws ipam::StoreError.
[[nodiscard]] DeclaredRanges recall_ranges(kube::Api& api, const base::Deadline& deadline);

/// The same from etcd.
[[nodiscard]] DeclaredRanges read_ranges(kube::Api& api, const base::Deadline& deadline);

/// Which cluster it is: the UID of its namespace kube-system, which no other cluster has. Throws ipam::StoreError.
[[nodiscard]] std::string cluster_uid(kube::Api& api, const base::Deadline& deadline);

/// Where a node finds what it knows of a cluster.
struct NodeMemory {
    std::string state_directory;
    std::string boot_id;
    std::string kubeconfig;
};

enum class Keeper : std::uint8_t { pools, blocks };

/// Who has the addresses of these ranges: blocks, if AddressRanges cover all of them, and pools if none does. Asks
/// nobody if this node knows it: by the ranges of its blocks, or, for two minutes, by pools that it has used. Both
/// obey what the cluster says by now, and throw RangeMoved. Throws ipam::StoreError for ranges of both kinds, and as
/// find_cover() does. `recalled`: what it has read, for BlocksStore::Options.
[[nodiscard]] Keeper find_keeper(const std::vector<Place>& places, const std::vector<ipam::BlockRange>& known,
                                 const NodeMemory& memory, const std::function<kube::Api&()>& api,
                                 const base::Deadline& deadline, std::optional<DeclaredRanges>* recalled = nullptr);

/// The range is covered by now, or no longer: whoever asked has to look again which store has it.
class RangeMoved : public ipam::StoreError {
public:
    explicit RangeMoved(const std::string& message) : StoreError(Kind::temporary, message) {}
};

} // namespace rdmanet::cluster
