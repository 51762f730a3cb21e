// What the API server has of other programs: AddressBlocks whoever wrote them, Pods with the networks
// that Multus has noted, Nodes, and NetworkAttachmentDefinitions. Commands show them or say what is wrong, and take
// what they don't understand for what must be kept.
#include "refusal.hpp"

#include "blocks/objects.hpp"

#include <rdmanet/cluster/survey.hpp>

#include <optional>

using namespace rdmanet;
using namespace rdmanet::fuzz;

namespace {

/// Most inputs are none of these objects, and an error's document takes longer than all that is read here.
template <class Read>
auto unless_ill_typed(Read read) -> std::optional<decltype(read())> {
    try {
        return read();
    } catch (const json::ValueError& error) {
        demand(!std::string_view(error.what()).empty(), "the error says nothing");
        return std::nullopt;
    }
}

void check_block(const json::Reader& object) {
    const auto seen = unless_ill_typed([&] { return cluster::parse_seen_block(object); });
    if (!seen) return;
    const auto block = unless_ill_typed([&] { return cluster::BlockObject::parse(object); });
    demand(block.has_value() == seen->trouble.empty(), "a block is shown that the store refuses, or the other way");
    demand(!block || (seen->block == block->block && seen->boot_id == block->node.boot_id), "another block is shown");
}

void check_pod(const json::Reader& object) {
    const auto seen = unless_ill_typed([&] { return cluster::parse_seen_pod(object); });
    const auto state = unless_ill_typed([&] { return cluster::parse_seen_pod_state(object); });
    if (seen && state) demand(seen->uid == state->uid && seen->is_going == state->is_going, "another pod is shown");
    if (state) demand(!state->is_running || !state->has_ended, "a pod runs and has ended");
}

void check_network(const json::Reader& object) {
    const auto spec = object.is_object() ? object.find("spec") : std::nullopt;
    const auto config = spec && spec->is_object() ? spec->find("config") : std::nullopt;
    // Also the configuration as such: it is a text in that object, which the fuzzer would have to escape.
    const std::string text = config && config->is_string() ? config->string() : object.to_text();
    (void)cluster::has_pools(text);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const auto document = parse_document(as_text(data, size));
    if (!document) return 0;
    const json::Reader object = document->root();
    check_network(object);
    check_block(object);
    check_pod(object);
    (void)unless_ill_typed([&] { return cluster::NodeObject::parse(object); });
    return 0;
}
