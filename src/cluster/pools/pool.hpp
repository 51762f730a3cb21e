// An IPPool as it was read.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/cluster/place.hpp>
#include <rdmanet/json/reader.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::cluster {

/// The annotation of a pool that an AddressRange covers: the range's UID. Nothing is given from such a pool.
inline constexpr const char* kMarkOfPool = "rdmanet.cni/address-range";
/// Empty if it is absent.
[[nodiscard]] std::string text_or_empty(const json::Reader& object, std::string_view key);

/// Whether addresses are given once in the whole space, and not only in each range.
[[nodiscard]] bool has_reservations(const Place& place);

/// One entry of spec.allocations.
struct PoolRecord {
    std::string key; // the offset in decimal
    base::IpAddress address;
    std::string id;
    std::string podref;
    std::string ifname; // empty in records of whereabouts before 0.7
    std::string text;   // the entry as JSON: what a conditional write compares with

    [[nodiscard]] bool is_of(std::string_view container_id, std::string_view its_ifname) const {
        return id == container_id && (ifname.empty() || ifname == its_ifname);
    }
};

struct Pool {
    base::IpPrefix range;
    std::vector<PoolRecord> records;     // by address
    std::vector<std::string> unreadable; // keys that are no offset in the range; they stay as they are
    std::size_t size = 0;                // of its JSON
    std::string uid{};                   // of the object
    std::string version{};               // changes with everything in it
    std::string mark{};                  // see kMarkOfPool
    bool has_annotations = false;

    [[nodiscard]] const PoolRecord* find(const base::IpAddress& address) const;
};

/// Throws json::ValueError for what is no IPPool, or not one of that range.
[[nodiscard]] Pool parse_pool(const json::Reader& object, std::size_t size,
                              const std::optional<base::IpPrefix>& expected);

/// A pool without records as JSON, for POST.
[[nodiscard]] std::string empty_pool_text(const Place& place);

/// The key of an address in the pool; nullopt where whereabouts could not read it again: its offsets are the low 64
/// bits, read as signed, and of IPv4 below 2^32 - 1.
[[nodiscard]] std::optional<std::string> key_of(const base::IpAddress& address, const base::IpPrefix& range);

/// The other way round. nullopt for what is no key of an address in the range.
[[nodiscard]] std::optional<base::IpAddress> address_of_key(const std::string& key, const base::IpPrefix& range);

} // namespace rdmanet::cluster
