// AddressRange, AddressBlock and Node as an API server may have them, whoever wrote them: store "blocks" refuses or
// understands them, and what it writes it can read again.
#include "refusal.hpp"

#include "blocks/objects.hpp"

#include <rdmanet/ipam/block_cut.hpp>

using namespace rdmanet;
using namespace rdmanet::fuzz;

namespace {

/// The object that the server makes of what this program sends.
template <class Object>
json::Document as_stored(const Object& object) {
    std::string text = object.to_text();
    const std::string metadata = R"("metadata":{)";
    text.insert(text.find(metadata) + metadata.size(), R"("resourceVersion":"1","uid":"u",)");
    return json::Document::parse(text);
}

void check_cut(const cluster::RangeObject& range) {
    const ipam::BlockCut cut(range.subnet, range.block_size, range.requestable);
    for (const base::IpAddress& address : {range.subnet.network(), range.subnet.last()}) {
        const base::IpPrefix block = cut.block_of(address);
        demand(block.contains(address), "an address is outside of its block");
        demand(range.subnet.contains(block.network()) && range.subnet.contains(block.last()),
               "a block is outside of its range");
        const bool is_requestable = range.requestable && range.requestable->contains(address);
        demand(is_requestable || cut.at(cut.index_of(address)) == block, "a block has another number");
    }
}

void check_range(const json::Reader& object) {
    const auto range = unless_refused([&] { return cluster::RangeObject::parse(object); });
    if (!range) return;
    if (range->store == cluster::kInBlocks) check_cut(*range);
    const json::Document stored = as_stored(*range);
    const cluster::RangeObject again = cluster::RangeObject::parse(stored.root());
    demand(again.spec_text() == range->spec_text() && again.name() == range->name(), "a range changes");
}

void check_block(const json::Reader& object) {
    const auto block = unless_refused([&] { return cluster::BlockObject::parse(object); });
    if (!block) return;
    demand(cluster::block_of_name(block->space, block->name()) == block->block, "a name is that of another block");
    const json::Document stored = as_stored(*block);
    const cluster::BlockObject again = cluster::BlockObject::parse(stored.root());
    demand(again.spec_text() == block->spec_text() && again.missing_since == block->missing_since, "a block changes");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const auto document = unless_refused([&] { return json::Document::parse(as_text(data, size)); });
    if (!document) return 0;
    check_range(document->root());
    check_block(document->root());
    (void)unless_refused([&] { return cluster::NodeObject::parse(document->root()); });
    return 0;
}
