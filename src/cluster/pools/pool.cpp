#include "pool.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/writer.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace rdmanet::cluster {
namespace {

constexpr const char* kPoolVersion = "whereabouts.cni.cncf.io/v1alpha1";

std::uint64_t largest_offset(base::Family family) {
    if (family == base::Family::v4) return std::numeric_limits<std::uint32_t>::max() - 1;
    return static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

} // namespace

std::optional<base::IpAddress> address_of_key(const std::string& key, const base::IpPrefix& range) {
    const auto offset = base::parse_integer<std::uint64_t>(key);
    if (!offset || *offset > largest_offset(range.family())) return std::nullopt;
    const base::IpAddress address(range.family(), range.network().value() + *offset);
    return range.contains(address) ? std::optional(address) : std::nullopt;
}

std::string empty_pool_text(const Place& place) {
    json::Writer object;
    object.begin_object().member("apiVersion", kPoolVersion).member("kind", "IPPool").key("metadata").begin_object();
    object.member("name", pool_name(place));
    object.end_object().key("spec").begin_object();
    object.member("range", fmt::format("{}/{}", place.subnet.network(), place.subnet.length()));
    object.key("allocations").begin_object().end_object().end_object().end_object();
    return object.to_text();
}

std::string text_or_empty(const json::Reader& object, std::string_view key) {
    const auto member = object.find(key);
    return member ? member->string() : std::string();
}

bool has_reservations(const Place& place) {
    return place.space.find('@') == std::string::npos;
}

const PoolRecord* Pool::find(const base::IpAddress& address) const {
    const auto found = std::lower_bound(records.begin(), records.end(), address,
                                        [](const auto& record, const auto& wanted) { return record.address < wanted; });
    return found != records.end() && found->address == address ? &*found : nullptr;
}

std::optional<std::string> key_of(const base::IpAddress& address, const base::IpPrefix& range) {
    const base::Uint128 offset = address.value() - range.network().value();
    if (!range.contains(address) || offset > largest_offset(range.family())) return std::nullopt;
    return fmt::format("{}", static_cast<std::uint64_t>(offset));
}

Pool parse_pool(const json::Reader& object, std::size_t size, const std::optional<base::IpPrefix>& expected) {
    const json::Reader spec = object.at("spec");
    const json::Reader range_text = spec.at("range");
    const auto range = base::IpPrefix::parse(range_text.string());
    if (!range) throw range_text.unexpected("a range, with its length");
    if (expected && (range->network() != expected->network() || range->length() != expected->length()))
        throw range_text.unexpected(fmt::format("the range that the pool's name says, {}", *expected));
    Pool pool{.range = *range, .size = size};
    if (const auto metadata = object.find("metadata")) {
        pool.uid = text_or_empty(*metadata, "uid");
        pool.version = text_or_empty(*metadata, "resourceVersion");
        const auto annotations = metadata->find("annotations");
        pool.mark = annotations ? text_or_empty(*annotations, kMarkOfPool) : "";
        pool.has_annotations = annotations.has_value();
    }
    const auto allocations = spec.find("allocations");
    if (!allocations) return pool;
    for (const auto& [key, entry] : allocations->members()) {
        const auto address = address_of_key(key, *range);
        if (!address || !entry.is_object()) {
            pool.unreadable.push_back(key);
            continue;
        }
        pool.records.push_back({.key = key,
                                .address = *address,
                                .id = text_or_empty(entry, "id"),
                                .podref = text_or_empty(entry, "podref"),
                                .ifname = text_or_empty(entry, "ifname"),
                                .text = entry.to_text()});
    }
    std::ranges::sort(pool.records, [](const PoolRecord& a, const PoolRecord& b) { return a.address < b.address; });
    return pool;
}

} // namespace rdmanet::cluster
