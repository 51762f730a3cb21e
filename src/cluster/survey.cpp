#include <rdmanet/cluster/survey.hpp>

#include "listing.hpp"
#include "pool.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/whereabouts_store.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace rdmanet::cluster {
namespace {

constexpr const char* kObjects = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces";
constexpr std::size_t kMostStored = 1536 << 10U; // etcd's --max-request-bytes, by default
// A pool has up to 1.5 MB, and an answer is read as a whole.
constexpr int kPoolsInPage = 8;

/// Like text_or_empty(), also for a member of another type.
std::string any_text(const json::Reader& object, std::string_view key) {
    if (!object.is_object()) return {};
    const auto member = object.find(key);
    return member && member->is_string() ? member->string() : std::string();
}

std::string annotation_of(const json::Reader& metadata, std::string_view key) {
    const auto annotations = metadata.find("annotations");
    return annotations ? any_text(*annotations, key) : std::string();
}

SeenRecord parse_record(const std::string& key, const json::Reader& entry, const std::optional<base::IpPrefix>& range) {
    SeenRecord record{.key = key,
                      .address = range ? address_of_key(key, *range) : std::nullopt,
                      .container_id = any_text(entry, "id"),
                      .podref = any_text(entry, "podref"),
                      .ifname = any_text(entry, "ifname"),
                      .text = entry.to_text(),
                      .trouble = {}};
    if (!record.address)
        record.trouble = fmt::format("key {} is no distance from the first address of the range", base::quoted(key));
    else if (record.container_id.empty() && record.podref.empty())
        record.trouble = "it names neither container nor pod";
    return record;
}

/// What `name` has before `end`, without the dash between. nullopt if it does not end so.
std::optional<std::string> space_before(const std::string& name, const std::string& end) {
    if (name == end) return std::string();
    if (!name.ends_with('-' + end)) return std::nullopt;
    return name.substr(0, name.size() - end.size() - 1);
}

/// The longest end of the name that is an address: "net-fd00--1" is fd00::1 of space "net". A name like "net-1-fd00--2"
/// can be read in two ways, and whereabouts' own reconciler can't tell either.
std::optional<std::pair<std::string, base::IpAddress>> address_in_name(const std::string& name) {
    for (std::size_t from = 0; from < name.size(); ++from) {
        if (from != 0 && name[from - 1] != '-') continue;
        std::string text = name.substr(from);
        std::replace(text.begin(), text.end(), '-', ':');
        if (const auto address = base::IpAddress::parse(text))
            return std::pair(from == 0 ? std::string() : name.substr(0, from - 1), *address);
    }
    return std::nullopt;
}

} // namespace

unsigned SeenPool::percent() const {
    return static_cast<unsigned>(size * 100 / kMostStored);
}

SeenPool parse_seen_pool(const json::Reader& object) {
    SeenPool pool{.name = object.at("metadata").at("name").string(),
                  .space = {},
                  .range = {},
                  .subnet = std::nullopt,
                  .size = object.to_text().size(),
                  .records = {},
                  .trouble = {}};
    const auto spec = object.find("spec");
    if (!spec || !spec->is_object()) {
        pool.trouble = "it has no \"spec\"";
        return pool;
    }
    pool.range = any_text(*spec, "range");
    pool.subnet = base::IpPrefix::parse(pool.range);
    if (!pool.subnet)
        pool.trouble = fmt::format("its range {} is no prefix", base::quoted(pool.range));
    else if (auto space = space_before(pool.name, pool_name({.space = {}, .subnet = *pool.subnet})))
        pool.space = *std::move(space);
    else
        pool.trouble = fmt::format("its name does not say its range, {}", pool.range);
    const auto allocations = spec->find("allocations");
    if (!allocations || !allocations->is_object()) return pool;
    for (const auto& [key, entry] : allocations->members())
        pool.records.push_back(parse_record(key, entry, pool.subnet));
    std::stable_sort(pool.records.begin(), pool.records.end(), [](const SeenRecord& a, const SeenRecord& b) {
        return std::tuple(!a.address, a.address) < std::tuple(!b.address, b.address);
    });
    return pool;
}

SeenReservation parse_seen_reservation(const json::Reader& object) {
    const json::Reader metadata = object.at("metadata");
    SeenReservation seen{.name = metadata.at("name").string(),
                         .uid = any_text(metadata, "uid"),
                         .version = any_text(metadata, "resourceVersion")};
    if (auto named = address_in_name(seen.name)) {
        seen.space = std::move(named->first);
        seen.address = named->second;
    } else {
        seen.trouble = "its name is no address";
    }
    if (const auto spec = object.find("spec")) {
        seen.podref = any_text(*spec, "podref");
        seen.ifname = any_text(*spec, "ifname");
        if (std::string id = any_text(*spec, "containerid"); !id.empty()) seen.container_id = std::move(id);
    }
    if (std::string id = annotation_of(metadata, "rdmanet.cni/container-id"); !id.empty()) {
        seen.container_id = std::move(id);
        seen.is_ours = true;
    }
    seen.pod_uid = annotation_of(metadata, "rdmanet.cni/pod-uid");
    seen.node_uid = annotation_of(metadata, "rdmanet.cni/node-uid");
    seen.boot_id = annotation_of(metadata, "rdmanet.cni/boot-id");
    if (const auto labels = metadata.find("labels")) seen.node = any_text(*labels, "rdmanet.cni/node");
    if (seen.trouble.empty() && seen.podref.empty() && !seen.container_id)
        seen.trouble = "it names neither container nor pod";
    return seen;
}

std::string Survey::name_space() const {
    const std::string& named = api_.access().name_space;
    return named.empty() ? "kube-system" : named;
}

std::optional<std::vector<SeenPool>> Survey::list_pools(const base::Deadline& deadline) {
    return list_parsed(api_, {.path = fmt::format("{}/{}/ippools", kObjects, name_space()), .page = kPoolsInPage},
                       deadline, parse_seen_pool);
}

std::optional<SeenPool> Survey::find_pool(const std::string& name, const base::Deadline& deadline) {
    const auto object = find_object(api_, fmt::format("{}/{}/ippools/{}", kObjects, name_space(), name), deadline);
    if (!object) return std::nullopt;
    return parse_seen_pool(object->content.root());
}

std::optional<std::vector<SeenReservation>> Survey::list_reservations(const base::Deadline& deadline) {
    return list_parsed(api_, {.path = fmt::format("{}/{}/overlappingrangeipreservations", kObjects, name_space())},
                       deadline, parse_seen_reservation);
}

} // namespace rdmanet::cluster
