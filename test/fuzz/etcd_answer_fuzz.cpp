// Answers of etcd: whatever they are, they are refused or understood, and a lease that was understood is written as it
// was read.
#include "refusal.hpp"

#include "etcd/free.hpp"
#include "etcd/keys.hpp"
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
        const auto gap = cluster::gap_in(found, kRange, kRange.usable.front(), {});
        demand(!gap || kRange.usable.front().contains(gap->value()), "an address outside of the range is free");
    }
    return 0;
}
