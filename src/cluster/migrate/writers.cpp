#include "writers.hpp"

#include "../blocks/objects.hpp"
#include "../listing.hpp"
#include "../pool.hpp"
#include "../range_records.hpp"
#include "../whereabouts_api.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/survey.hpp>
#include <rdmanet/http/pause.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace rdmanet::cluster {
namespace {

using ipam::StoreError;

constexpr std::chrono::seconds kUntilReserved{2}; // one request's time
constexpr const char* kNetworks = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions";

std::string network_of(const std::string& space) {
    return space.substr(0, space.find('@'));
}

/// A pool's record. The same address of another container is another one.
using Seen = std::tuple<std::string, std::string, std::string>; // pool, key, container

struct Record {
    std::string pool;
    SeenRecord seen;
};

class Writers {
public:
    Writers(kube::Api& api, const std::vector<Place>& places, const base::Deadline& deadline)
        : survey_(api), objects_(api, survey_.name_space()), places_(places), deadline_(deadline) {}

    [[nodiscard]] std::vector<Record> records() {
        std::vector<Record> records;
        for (const SeenPool& pool : survey_.list_pools(deadline_).value_or(std::vector<SeenPool>{}))
            if (pool.subnet && has_part_of(*pool.subnet))
                for (const SeenRecord& record : pool.records) records.push_back({pool.name, record});
        return records;
    }

    /// Of rdmanet are those whose reservation says their container. Both plugins write the record first, so one without
    /// a reservation gets another look. Where there are no reservations, nobody can tell.
    [[nodiscard]] bool is_foreign(const Record& record) {
        if (!record.seen.address) return false;
        for (const Place& place : places_) {
            if (!has_reservations(place) || !place.subnet.contains(*record.seen.address)) continue;
            const std::string name = reservation_name(place.space, *record.seen.address);
            auto reservation = objects_.find_reservation(name, deadline_);
            if (!reservation) {
                http::pause(kUntilReserved);
                reservation = objects_.find_reservation(name, deadline_);
            }
            return !reservation || !reservation->container_id;
        }
        return false;
    }

private:
    [[nodiscard]] bool has_part_of(const base::IpPrefix& subnet) const {
        return std::any_of(places_.begin(), places_.end(),
                           [&](const Place& place) { return overlap(place.subnet, subnet); });
    }

    Survey survey_;
    WhereaboutsApi objects_;
    const std::vector<Place>& places_;
    const base::Deadline& deadline_;
};

/// Of whereabouts' "10.0.0.0/24" or "10.0.0.1-10.0.0.9/24".
std::optional<base::IpPrefix> subnet_of(const std::string& range) {
    return base::IpPrefix::parse(range.substr(range.rfind('-') + 1));
}

std::vector<std::string> texts_of_ranges(const json::Reader& ipam) {
    std::vector<std::string> texts{text_or_empty(ipam, "range")};
    if (const auto more = ipam.find("ipRanges"); more && more->is_array())
        for (const json::Reader& range : more->elements())
            if (range.is_object()) texts.push_back(text_or_empty(range, "range"));
    return texts;
}

bool is_served_by_whereabouts(const json::Reader& plugin, const std::vector<Place>& places) {
    if (!plugin.is_object()) return false;
    const auto ipam = plugin.find("ipam");
    if (!ipam || !ipam->is_object() || text_or_empty(*ipam, "type") != "whereabouts") return false;
    const std::string network = text_or_empty(*ipam, "network_name");
    const std::vector<std::string> texts = texts_of_ranges(*ipam);
    if (std::all_of(texts.begin(), texts.end(), [](const std::string& text) { return text.empty(); }))
        return std::any_of(places.begin(), places.end(), // its range is in a file of the nodes
                           [&](const Place& place) { return network_of(place.space) == network; });
    for (const std::string& text : texts) {
        const auto subnet = subnet_of(text);
        if (!subnet) continue;
        for (const Place& place : places)
            if (network_of(place.space) == network && overlap(place.subnet, *subnet)) return true;
    }
    return false;
}

} // namespace

bool is_served_by_whereabouts(const std::string& configuration, const std::vector<Place>& places) try {
    const json::Document document = json::Document::parse(configuration);
    const json::Reader root = document.root();
    if (is_served_by_whereabouts(root, places)) return true;
    const auto plugins = root.is_object() ? root.find("plugins") : std::nullopt;
    if (!plugins || !plugins->is_array()) return false;
    const std::vector<json::Reader> all = plugins->elements();
    return std::any_of(all.begin(), all.end(),
                       [&](const json::Reader& plugin) { return is_served_by_whereabouts(plugin, places); });
} catch (const base::Error&) { // no plugin can read it either
    return false;
}

namespace {

void require_no_networks(kube::Api& api, const std::vector<Place>& places, const base::Deadline& deadline) {
    const auto names = list_parsed(api, {.path = kNetworks}, deadline, [&](const json::Reader& object) {
        const auto spec = object.find("spec");
        const bool is_served = spec && is_served_by_whereabouts(text_or_empty(*spec, "config"), places);
        const json::Reader metadata = object.at("metadata");
        return is_served ? fmt::format("{}/{}", text_or_empty(metadata, "namespace"), metadata.at("name").string())
                         : std::string();
    });
    if (!names) return; // without Multus' kind there are none
    for (const std::string& name : *names)
        if (!name.empty())
            throw StoreError(
                StoreError::Kind::permanent,
                fmt::format(
                    "whereabouts still gives addresses of the range, or may do so, for network {}: change \"type\" "
                    "in its \"ipam\" to \"rdmanet\", wait until no ADD of before is running, then "
                    "run this command again",
                    name));
}

} // namespace

void require_no_whereabouts(kube::Api& api, const MigrateOptions& options, const std::vector<Place>& places,
                            const base::Deadline& deadline) {
    require_no_networks(api, places, deadline);
    Writers writers(api, places, deadline);
    std::set<Seen> before;
    for (const Record& record : writers.records())
        before.emplace(record.pool, record.seen.key, record.seen.container_id);
    if (options.pause > std::chrono::seconds(0)) {
        if (options.note)
            options.note(fmt::format("looking for {} s whether whereabouts writes", options.pause.count()));
        http::pause(options.pause);
    }
    for (const Record& record : writers.records())
        if (!before.contains({record.pool, record.seen.key, record.seen.container_id}) && writers.is_foreign(record))
            throw StoreError(StoreError::Kind::permanent,
                             fmt::format("whereabouts still gives addresses of the range: pod {} has just got {}: find "
                                         "the network of that pod and change \"type\" in its \"ipam\" to \"rdmanet\", "
                                         "then run this command again",
                                         base::quoted(record.seen.podref), *record.seen.address));
}

} // namespace rdmanet::cluster
