#include <rdmanet/cluster/recorded_store.hpp>

#include "blocks/blocks_api.hpp"
#include "range_records.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace rdmanet::cluster {

std::optional<std::vector<RecordedStore>> find_recorded_stores(kube::Api& api, const std::vector<Place>& places,
                                                               const base::Deadline& deadline) try {
    std::set<std::string> spaces;
    for (const Place& place : places) spaces.insert(place.space);
    std::vector<RecordedStore> recorded;
    for (const std::string& space : spaces)
        for (const RangeObject& range : BlocksApi(api).list_ranges(space, deadline)) {
            Place place{.space = range.space, .subnet = range.subnet};
            if (std::find(places.begin(), places.end(), place) == places.end()) continue;
            require_not_half_moved(range);
            recorded.push_back(
                {.place = std::move(place), .store = range.store, .object = range.name(), .node = range.recorded_by});
        }
    return recorded;
} catch (const MissingKind&) {
    return std::nullopt;
} catch (const MissingRight&) { // the marks in whereabouts' pools keep the stores of the cluster apart
    return std::nullopt;
}

} // namespace rdmanet::cluster
