// AddressRange, AddressBlock and Node as an API server may have them, whoever wrote them: they are ignored,
// refused or understood, and what this program writes it can read again.
#include "refusal.hpp"

#include "blocks/objects.hpp"

#include <rdmanet/ipam/block_cut.hpp>

using namespace rdmanet;
using namespace rdmanet::fuzz;

namespace {

/// The object that the server makes of what this program sends.
json::Document as_stored(const cluster::BlockObject& object) {
    std::string text = object.to_text();
    const std::string metadata = R"("metadata":{)";
    text.insert(text.find(metadata) + metadata.size(), R"("resourceVersion":"1","uid":"u",)");
    return json::Document::parse(text);
}

void check_cut(const cluster::AddressRange& range) {
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
    const auto parsed = cluster::parse_range(object);
    if (const auto* ignored = std::get_if<cluster::IgnoredRange>(&parsed))
        return demand(!ignored->why.empty(), "a range is ignored, and nothing says why");
    const auto& range = std::get<cluster::AddressRange>(parsed);
    demand(range.gone_after >= cluster::kLeastGoneAfter, "a node is taken for gone too early");
    check_cut(range);
}

void check_block(const json::Reader& object) {
    const auto block = unless_refused([&] { return cluster::BlockObject::parse(object); });
    if (!block) return;
    const std::string name = cluster::object_name(block->space, block->block);
    demand(cluster::block_of_name(block->space, name) == block->block, "a name is that of another block");
    const json::Document stored = as_stored(*block);
    const cluster::BlockObject again = cluster::BlockObject::parse(stored.root());
    demand(again.spec_text() == block->spec_text() && again.gone == block->gone, "a block changes");
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
