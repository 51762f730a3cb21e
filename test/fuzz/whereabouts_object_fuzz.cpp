// IPPool and OverlappingRangeIPReservation as an API server may have them, whoever wrote them: the store refuses or
// understands them, and what the commands show agrees with the store.
#include "refusal.hpp"

#include "pools/api.hpp"
#include "pools/pool.hpp"

#include <rdmanet/cluster/survey.hpp>

#include <algorithm>
#include <optional>

using namespace rdmanet;
using namespace rdmanet::fuzz;

namespace {

void check_pool(const json::Reader& object, std::size_t size, const base::IpPrefix& range,
                const cluster::SeenPool& seen) {
    const auto pool = unless_refused([&] { return cluster::parse_pool(object, size, range); });
    if (!pool) return;
    demand(std::is_sorted(pool->records.begin(), pool->records.end(),
                          [](const auto& a, const auto& b) { return a.address < b.address; }),
           "records are not in order");
    for (const cluster::PoolRecord& record : pool->records) {
        demand(range.contains(record.address), "a record is outside of its range");
        const cluster::PoolRecord* found = pool->find(record.address);
        demand(found != nullptr && found->address == record.address, "a record is not found");
        const auto key = cluster::key_of(record.address, range);
        demand(key && cluster::address_of_key(*key, range) == record.address, "a key has another address");
        demand(json::Document::parse(record.text).root().to_text() == record.text, "a record changes when it is read");
    }
    const auto readable = std::count_if(seen.records.begin(), seen.records.end(),
                                        [](const auto& record) { return record.address.has_value(); });
    demand(seen.records.size() == pool->records.size() + pool->unreadable.size(), "records are shown that are not");
    demand(static_cast<std::size_t>(readable) >= pool->records.size(), "a record is not shown");
}

void check_reservation(const json::Reader& object) {
    const auto read = unless_refused([&] { return cluster::parse_reservation(object); });
    const auto seen = unless_refused([&] { return cluster::parse_seen_reservation(object); });
    if (!read || !seen) return;
    demand(seen->podref == read->podref && seen->ifname == read->ifname, "a reservation is shown as another's");
    demand(seen->uid == read->uid && seen->version == read->version, "another object is shown");
}

} // namespace

// An error's document takes longer than all that is read here, and other targets look at those of broken JSON. So each
// input has few refusals, and most of the time goes to what is understood.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const auto document = parse_document(as_text(data, size));
    if (!document) return 0;
    const json::Reader object = document->root();
    check_reservation(object);
    const auto seen = unless_refused([&] { return cluster::parse_seen_pool(object); });
    if (seen) check_pool(object, size, seen->subnet.value_or(*base::IpPrefix::parse("10.0.0.0/24")), *seen);
    return 0;
}
