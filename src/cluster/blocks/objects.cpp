#include "objects.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/block_cut.hpp>
#include <rdmanet/json/writer.hpp>

#include <algorithm>
#include <bit>
#include <ctime>
#include <limits>

namespace rdmanet::cluster {
namespace {

using base::IpPrefix;

constexpr const char* kNodeLabel = "rdmanet.cni/node";
constexpr const char* kRangeLabel = "rdmanet.cni/range";
constexpr const char* kSpaceLabel = "rdmanet.cni/space";
constexpr const char* kMissingSince = "rdmanet.cni/node-missing-since";
constexpr const char* kRecordedBy = "rdmanet.cni/recorded-by";
constexpr std::size_t kLongestLabel = 63; // apimachinery, validation.LabelValueMaxLength

std::string name_of(const IpPrefix& prefix) {
    if (prefix.address().is_v4()) return fmt::format("{}-{}", prefix.address(), prefix.length());
    const auto bytes = prefix.address().bytes();
    std::string text;
    for (std::size_t at = 0; at < bytes.size(); at += 2) text += fmt::format("{:02x}{:02x}-", bytes[at], bytes[at + 1]);
    return fmt::format("{}{}", text, prefix.length());
}

/// A space is `network_name`, with '@' and the range behind where addresses are unique within a range only.
std::string prefix_of(const std::string& space) {
    const auto at = space.find('@');
    const std::string network = space.substr(0, at);
    if (at == std::string::npos) return network.empty() ? "" : fmt::format("{}-", network);
    const auto range = IpPrefix::parse(space.substr(at + 1));
    // Two dashes are never at the end of a network's name.
    return fmt::format("{}{}--", network.empty() ? "" : fmt::format("{}--", network),
                       range ? name_of(*range) : label_value(space));
}

IpPrefix block_prefix_in(const json::Reader& at) {
    const auto prefix = IpPrefix::parse(at.string());
    if (!prefix || prefix->has_host_bits()) throw at.unexpected("the first address of a block, with its length");
    return *prefix;
}

std::string text_in(const json::Reader& object, std::string_view key) {
    const auto member = object.find(key);
    return member ? member->string() : std::string();
}

bool flag_in(const json::Reader& object, std::string_view key) {
    const auto member = object.find(key);
    return member && member->boolean();
}

/// "store": "FROM>TO", or addresses that the range's store leaves out because others have them.
std::string move_in(const json::Reader& spec) {
    const std::string store = spec.at("store").string();
    if (store.find('>') != std::string::npos) return fmt::format("\"store\": {}", base::quoted(store));
    const auto held = spec.find("held");
    return held && !held->elements().empty() ? fmt::format("\"held\": {}", held->to_text()) : std::string();
}

std::string prefix_text(const IpPrefix& prefix) {
    return fmt::format("{}/{}", prefix.network(), prefix.length());
}

struct Kind {
    const char* name;
    bool has_finalizer;
};

json::Writer object_of(const Kind& kind, const std::string& name, const std::string& labels,
                       const std::string& annotations) {
    json::Writer object;
    object.begin_object().member("apiVersion", kBlocksVersion).member("kind", kind.name).key("metadata").begin_object();
    object.member("name", name).key("labels").raw(labels).key("annotations").raw(annotations);
    if (kind.has_finalizer) object.key("finalizers").begin_array().value(kFinalizer).end_array();
    object.end_object();
    return object;
}

} // namespace

std::int64_t seconds_of(const std::string& text) {
    std::tm time{};
    return ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time) == nullptr ? 0 : ::timegm(&time);
}

std::string object_name(const std::string& space, const IpPrefix& prefix) {
    return prefix_of(space) + name_of(prefix);
}

std::optional<IpPrefix> block_of_name(const std::string& space, const std::string& name) {
    const std::string before = prefix_of(space);
    const auto dash = name.rfind('-');
    if (!name.starts_with(before) || dash == std::string::npos || dash < before.size()) return std::nullopt;
    std::string text = name;
    std::replace(text.begin(), text.end(), '-', ':');
    text[dash] = '/';
    const auto prefix = IpPrefix::parse(text.substr(before.size()));
    return prefix && object_name(space, *prefix) == name ? prefix : std::nullopt;
}

bool overlap(const IpPrefix& a, const IpPrefix& b) {
    return a.contains(b.network()) || b.contains(a.network());
}

std::string label_value(const std::string& text) {
    const bool fits = text.size() <= kLongestLabel && text.find('@') == std::string::npos;
    return fits ? text : fmt::format("h-{:016x}", base::hash64(text));
}

std::string RangeObject::spec_text() const {
    json::Writer spec;
    spec.begin_object().member("space", space).member("range", prefix_text(subnet));
    spec.member("store", store);
    if (block_size != 0) spec.member("blockSize", block_size);
    spec.member("confirmed", is_confirmed);
    if (requestable) spec.member("requestable", prefix_text(*requestable));
    return spec.end_object().to_text();
}

/// The finalizer comes with the confirmation: what is not confirmed may have to go.
std::string RangeObject::to_text() const {
    json::Writer labels;
    labels.begin_object().member(kSpaceLabel, label_value(space)).end_object();
    json::Writer annotations;
    annotations.begin_object();
    if (!recorded_by.empty()) annotations.member(kRecordedBy, recorded_by);
    json::Writer object = object_of({.name = "AddressRange", .has_finalizer = false}, name(), labels.to_text(),
                                    annotations.end_object().to_text());
    return object.key("spec").raw(spec_text()).end_object().to_text();
}

RangeObject RangeObject::parse(const json::Reader& object) {
    const json::Reader metadata = object.at("metadata");
    const json::Reader spec = object.at("spec");
    RangeObject range{.space = text_in(spec, "space"),
                      .subnet = block_prefix_in(spec.at("range")),
                      .store = spec.at("store").string(),
                      .block_size = 0,
                      .requestable = std::nullopt,
                      .is_confirmed = flag_in(spec, "confirmed"),
                      .is_going = metadata.find("deletionTimestamp").has_value(),
                      .half_moved = move_in(spec),
                      .recorded_by = {},
                      .created = 0,
                      .version = metadata.at("resourceVersion").string(),
                      .uid = metadata.at("uid").string()};
    if (const auto size = spec.find("blockSize"); size || range.store == kInBlocks) {
        const json::Reader at = spec.at("blockSize");
        range.block_size = static_cast<unsigned>(at.integer(1, ipam::kMostBlockSize));
        if (!std::has_single_bit(range.block_size)) throw at.unexpected("a power of two");
    }
    if (range.store == kInBlocks &&
        base::address_bits(range.subnet.family()) - range.subnet.length() > ipam::kMostHostBits)
        throw spec.at("range").unexpected("a range that can be cut into blocks");
    range.created = seconds_of(text_in(metadata, "creationTimestamp"));
    if (const auto annotations = metadata.find("annotations")) range.recorded_by = text_in(*annotations, kRecordedBy);
    if (const auto requestable = spec.find("requestable")) {
        range.requestable = block_prefix_in(*requestable);
        if (!range.subnet.contains(range.requestable->address()) || !range.subnet.contains(range.requestable->last()))
            throw requestable->unexpected("a part of the range");
    }
    return range;
}

std::string BlockObject::spec_text() const {
    json::Writer spec;
    spec.begin_object().member("space", space).member("range", prefix_text(range)).member("block", prefix_text(block));
    const unsigned bits = base::address_bits(block.family()) - block.length();
    spec.member("size", std::int64_t{1} << std::min(bits, 62U));
    spec.key("node").begin_object().member("name", node.name).member("uid", node.uid).end_object();
    spec.member("machineID", node.machine_id).member("bootID", node.boot_id).member("leaseFile", lease_file);
    spec.member("released", is_released).member("inUse", in_use).member("inUseAt", in_use_at);
    return spec.end_object().to_text();
}

std::string BlockObject::labels_text() const {
    json::Writer labels;
    labels.begin_object().member(kNodeLabel, label_value(node.name));
    labels.member(kRangeLabel, label_value(object_name(space, range)));
    return labels.end_object().to_text();
}

std::string BlockObject::annotations_text() const {
    json::Writer annotations;
    annotations.begin_object();
    if (missing_since) annotations.member(kMissingSince, fmt::format("{}", *missing_since));
    return annotations.end_object().to_text();
}

std::string BlockObject::to_text() const {
    json::Writer object =
        object_of({.name = "AddressBlock", .has_finalizer = true}, name(), labels_text(), annotations_text());
    return object.key("spec").raw(spec_text()).end_object().to_text();
}

BlockObject BlockObject::parse(const json::Reader& object) {
    const json::Reader metadata = object.at("metadata");
    const json::Reader spec = object.at("spec");
    const json::Reader node = spec.at("node");
    BlockObject block{.space = text_in(spec, "space"),
                      .range = block_prefix_in(spec.at("range")),
                      .block = block_prefix_in(spec.at("block")),
                      .node = {.name = node.at("name").string(),
                               .uid = node.at("uid").string(),
                               .machine_id = text_in(spec, "machineID"),
                               .boot_id = spec.at("bootID").string()},
                      .lease_file = spec.at("leaseFile").string(),
                      .is_released = flag_in(spec, "released"),
                      .in_use = 0,
                      .in_use_at = text_in(spec, "inUseAt"),
                      .version = metadata.at("resourceVersion").string(),
                      .uid = metadata.at("uid").string(),
                      .missing_since = std::nullopt};
    if (const auto in_use = spec.find("inUse"))
        block.in_use = static_cast<std::uint64_t>(in_use->integer(0, INT64_MAX));
    if (const auto annotations = metadata.find("annotations"))
        if (const auto since = annotations->find(kMissingSince))
            block.missing_since = base::parse_integer<std::int64_t>(since->string());
    if (metadata.at("name").string() != block.name())
        throw metadata.at("name").unexpected(fmt::format("the name of block {}, {}", block.block, block.name()));
    return block;
}

NodeObject NodeObject::parse(const json::Reader& object) {
    const json::Reader metadata = object.at("metadata");
    NodeObject node{.name = metadata.at("name").string(), .uid = metadata.at("uid").string()};
    const auto status = object.find("status");
    const auto info = status ? status->find("nodeInfo") : std::nullopt;
    if (!info) return node;
    node.machine_id = text_in(*info, "machineID");
    node.boot_id = text_in(*info, "bootID");
    return node;
}

} // namespace rdmanet::cluster
