// Answers of etcd: whatever they are, they are refused or understood, and a lease that was understood is written as it
// was read.
#include "refusal.hpp"

#include "etcd/free.hpp"
#include "etcd/keys.hpp"
#include "etcd/ranges.hpp"
#include "etcd/values.hpp"

#include <rdmanet/etcd/transaction.hpp>

#include <algorithm>

using namespace rdmanet;
using namespace rdmanet::fuzz;

namespace {

const ipam::Claim kRange{.space = "",
                         .family = base::Family::v4,
                         .prefix_length = 24,
                         .usable = {{.first = 0x0a000001, .last = 0x0a0000fe}},
                         .wanted = std::nullopt};

void understand(const etcd::KeyValue& entry) {
    if (const auto address = cluster::EtcdKeys::address_in(entry.key)) {
        const auto key = cluster::EtcdKeys("").address("", *address);
        demand(cluster::EtcdKeys::address_in(key) == address, "the key of an address has another address");
    }
    if (const auto subnet = cluster::EtcdKeys::range_in(entry.key)) {
        // Of a key that somebody wrote with an address inside of the range, too.
        const auto again = cluster::EtcdKeys::range_in(cluster::EtcdKeys("").range("", *subnet));
        demand(again && again->network() == subnet->network() && again->length() == subnet->length(),
               "the key of a range has another range");
    }
    if (const auto space = cluster::EtcdKeys::text_of_part(entry.key)) {
        const std::string folder = cluster::EtcdKeys("").ranges(*space); // "/PART/r/"
        demand(cluster::EtcdKeys::text_of_part(std::string_view(folder).substr(1, folder.find('/', 1) - 1)) == space,
               "the part of a key has another text");
    }
    if (const auto hold = cluster::parse_stored_hold(entry.value)) {
        const auto again = cluster::parse_stored_hold(cluster::to_text(*hold));
        demand(again && again->holder == hold->holder, "a hold changes");
    }
    if (const std::string store = cluster::store_of_range(entry.value); !store.empty())
        demand(cluster::text_of_range(store) == entry.value, "claims compare another text");
    if (const auto stored = cluster::parse_stored_lease(entry.value)) {
        const auto again = cluster::parse_stored_lease(cluster::to_text(*stored));
        demand(again && again->lease == stored->lease && again->machine_id == stored->machine_id &&
                   again->node_name == stored->node_name,
               "a lease changes when it is written");
    }
    if (const auto node = cluster::parse_stored_node(entry.value)) {
        const auto again = cluster::parse_stored_node(cluster::to_text(*node));
        const auto kept = std::min(node->earlier.size(), cluster::StoredNode::kMostBoots);
        demand(again && again->name == node->name && again->boot_id == node->boot_id &&
                   again->returned == node->returned && again->earlier.size() == kept &&
                   std::equal(again->earlier.begin(), again->earlier.end(), node->earlier.begin()),
               "a node changes");
    }
    if (const auto place = cluster::parse_stored_place(entry.value)) {
        const auto again = cluster::parse_stored_place(cluster::to_text(*place));
        demand(again && again->owner_key == place->owner_key && again->address_key == place->address_key &&
                   again->boot_id == place->boot_id,
               "a place changes");
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const auto answer = unless_refused([&] { return etcd::parse_answer(as_text(data, size)); });
    if (!answer) return 0;
    for (const etcd::Found& found : answer->found) {
        for (const etcd::KeyValue& entry : found.entries) understand(entry);
        const auto ranges = cluster::RecordedRanges::parse(found, 1).ranges;
        demand(ranges.size() <= found.entries.size(), "there are ranges without a key");
        const auto gap = cluster::gap_in(found, kRange, kRange.usable.front(), {});
        demand(!gap || kRange.usable.front().contains(gap->value()), "an address outside of the range is free");
    }
    return 0;
}
