#include "objects.hpp"

#include "../pools/pool.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/block_cut.hpp>
#include <rdmanet/json/writer.hpp>

#include <algorithm>
#include <bit>
#include <ctime>

namespace rdmanet::cluster {
namespace {

using base::IpPrefix;

constexpr const char* kNodeLabel = "rdmanet.cni/node";
constexpr const char* kRangeLabel = "rdmanet.cni/range-uid";
constexpr const char* kGone = "rdmanet.cni/node-gone";
constexpr std::size_t kLongestLabel = 63; // apimachinery, validation.LabelValueMaxLength
constexpr std::string_view kOutOfService = "node.kubernetes.io/out-of-service";

std::string name_of(const IpPrefix& prefix) {
    if (prefix.address().is_v4()) return fmt::format("{}-{}", prefix.address(), prefix.length());
    const auto bytes = prefix.address().bytes();
    std::string text;
    for (std::size_t at = 0; at < bytes.size(); at += 2) text += fmt::format("{:02x}{:02x}-", bytes[at], bytes[at + 1]);
    return fmt::format("{}{}", text, prefix.length());
}

std::string prefix_of(const std::string& space) {
    return space.empty() ? "" : fmt::format("{}-", space);
}

IpPrefix prefix_in(const json::Reader& at) {
    const auto prefix = IpPrefix::parse(at.string());
    if (!prefix || prefix->has_host_bits()) throw at.unexpected("a first address, with its length");
    return *prefix;
}

/// "1h30m", as Kubernetes writes durations.
std::chrono::seconds duration_in(const json::Reader& at) {
    const std::string text = at.string();
    std::string_view rest = text;
    std::int64_t seconds = 0;
    while (!rest.empty()) {
        const auto end = rest.find_first_not_of("0123456789");
        const auto number = base::parse_integer<std::int64_t>(rest.substr(0, std::min(end, rest.size())));
        if (!number || *number > 1'000'000 || end == std::string_view::npos) break;
        const std::int64_t unit = rest[end] == 'h' ? 3600 : rest[end] == 'm' ? 60 : rest[end] == 's' ? 1 : 0;
        if (unit == 0) break;
        seconds += *number * unit;
        rest.remove_prefix(end + 1);
    }
    if (!rest.empty() || seconds < kLeastGoneAfter.count()) throw at.unexpected("a time of at least \"10m\"");
    return std::chrono::seconds(seconds);
}

unsigned block_size_in(const json::Reader& spec) {
    const auto member = spec.find("blockSize");
    if (!member) return ipam::kDefaultBlockSize;
    const auto size = static_cast<unsigned>(member->integer(1, ipam::kMostBlockSize));
    if (!std::has_single_bit(size)) throw member->unexpected("a power of two");
    return size;
}

std::optional<IpPrefix> requestable_in(const json::Reader& spec, const IpPrefix& range) {
    const auto member = spec.find("requestable");
    if (!member) return std::nullopt;
    const IpPrefix part = prefix_in(*member);
    if (!covers(range, part)) throw member->unexpected("a part of the range");
    return part;
}

std::optional<std::uint64_t> count_in(const json::Reader& object, std::string_view key) {
    const auto member = object.find(key);
    return member ? std::optional(static_cast<std::uint64_t>(member->integer(0, INT64_MAX))) : std::nullopt;
}

std::optional<GoneMark> gone_in(const json::Reader& metadata) {
    const auto annotations = metadata.find("annotations");
    const std::string text = annotations ? text_or_empty(*annotations, kGone) : std::string();
    const auto space = text.find(' ');
    if (space == std::string::npos) return std::nullopt;
    const auto since = base::parse_integer<std::int64_t>(text.substr(0, space));
    return since ? std::optional(GoneMark{.since = *since, .why = text.substr(space + 1)}) : std::nullopt;
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
    std::ranges::replace(text, '-', ':');
    text[dash] = '/';
    const auto prefix = IpPrefix::parse(text.substr(before.size()));
    return prefix && object_name(space, *prefix) == name ? prefix : std::nullopt;
}

std::string label_value(const std::string& text) {
    const bool fits = text.size() <= kLongestLabel && text.find('@') == std::string::npos;
    return fits ? text : fmt::format("h-{:016x}", base::hash64(text));
}

bool is_same_machine(const NodeMark& maker, const NodeMark& node) {
    const bool has_same_id = maker.machine_id == node.machine_id;
    const bool is_id_unknown = maker.machine_id.empty() || node.machine_id.empty();
    if (maker.uid == node.uid && !node.uid.empty()) return has_same_id || is_id_unknown;
    return maker.name == node.name && has_same_id && !is_id_unknown;
}

std::variant<AddressRange, IgnoredRange> parse_range(const json::Reader& object) {
    std::string name;
    try {
        const json::Reader metadata = object.at("metadata");
        name = metadata.at("name").string();
        const json::Reader spec = object.at("spec");
        if (const auto store = spec.find("store"))
            return IgnoredRange{.name = name,
                                .why = "an earlier version of rdmanet has made it (it has \"store\"): delete it, and "
                                       "apply an AddressRange if the range shall be in blocks"};
        const IpPrefix subnet = prefix_in(spec.at("range"));
        if (base::address_bits(subnet.family()) - subnet.length() > ipam::kMostHostBits)
            throw spec.at("range").unexpected("a range that can be cut into blocks");
        AddressRange range{.name = name,
                           .uid = metadata.at("uid").string(),
                           .space = text_or_empty(spec, "networkName"),
                           .subnet = subnet,
                           .block_size = block_size_in(spec),
                           .requestable = requestable_in(spec, subnet),
                           .is_going = metadata.find("deletionTimestamp").has_value()};
        if (const auto gone_after = spec.find("goneAfter")) range.gone_after = duration_in(*gone_after);
        if (const auto status = object.find("status")) {
            range.blocks = count_in(*status, "blocks");
            range.empty_blocks = count_in(*status, "emptyBlocks");
            // A backup may bring the status back with another range.
            range.is_exclusive = text_or_empty(*status, "exclusiveUID") == range.uid;
        }
        return range;
    } catch (const json::ValueError& error) {
        return IgnoredRange{.name = name, .why = error.what()};
    }
}

base::Uint128 count_of_blocks(const AddressRange& range) {
    base::Uint128 count = 0;
    const ipam::BlockCut cut(range.subnet, range.block_size, range.requestable);
    for (const ipam::BlockIndexes& some :
         cut.blocks_with({{range.subnet.network().value(), range.subnet.last().value()}}))
        count += some.last - some.first + 1;
    return count;
}

std::string BlockObject::spec_text() const {
    json::Writer spec;
    spec.begin_object();
    if (!space.empty()) spec.member("networkName", space);
    spec.member("range", range.to_string()).member("rangeUID", range_uid).member("block", block.to_string());
    const unsigned bits = base::address_bits(block.family()) - block.length();
    spec.member("size", std::int64_t{1} << std::min(bits, 62U));
    spec.key("node").begin_object().member("name", node.name).member("uid", node.uid).end_object();
    spec.member("machineID", node.machine_id).member("bootID", node.boot_id);
    spec.member("goneAfter", fmt::format("{}s", gone_after.count()))
        .member("inUse", in_use)
        .member("inUseAt", in_use_at);
    return spec.end_object().to_text();
}

std::string BlockObject::labels_text() const {
    json::Writer labels;
    labels.begin_object().member(kNodeLabel, label_value(node.name)).member(kRangeLabel, range_uid);
    return labels.end_object().to_text();
}

std::string BlockObject::annotations_text() const {
    json::Writer annotations;
    annotations.begin_object();
    if (gone) annotations.member(kGone, fmt::format("{} {}", gone->since, gone->why));
    return annotations.end_object().to_text();
}

std::string BlockObject::to_text() const {
    json::Writer object;
    object.begin_object().member("apiVersion", kBlocksVersion).member("kind", "AddressBlock");
    object.key("metadata").begin_object().member("name", object_name(space, block));
    object.key("labels").raw(labels_text()).key("annotations").raw(annotations_text());
    object.key("finalizers").begin_array().value(kFinalizer).end_array().end_object();
    return object.key("spec").raw(spec_text()).end_object().to_text();
}

BlockObject BlockObject::parse(const json::Reader& object) {
    const json::Reader metadata = object.at("metadata");
    const json::Reader spec = object.at("spec");
    const json::Reader node = spec.at("node");
    BlockObject block{.space = text_or_empty(spec, "networkName"),
                      .range = prefix_in(spec.at("range")),
                      .range_uid = text_or_empty(spec, "rangeUID"),
                      .block = prefix_in(spec.at("block")),
                      .node = {.name = node.at("name").string(),
                               .uid = node.at("uid").string(),
                               .machine_id = text_or_empty(spec, "machineID"),
                               .boot_id = spec.at("bootID").string()},
                      .in_use_at = text_or_empty(spec, "inUseAt"),
                      .gone = gone_in(metadata),
                      .name = metadata.at("name").string(),
                      .version = metadata.at("resourceVersion").string(),
                      .uid = metadata.at("uid").string()};
    if (const auto gone_after = spec.find("goneAfter")) block.gone_after = duration_in(*gone_after);
    block.in_use = count_in(spec, "inUse").value_or(0);
    return block;
}

NodeObject NodeObject::parse(const json::Reader& object) {
    const json::Reader metadata = object.at("metadata");
    NodeObject node;
    node.name = metadata.at("name").string();
    node.uid = metadata.at("uid").string();
    if (const auto spec = object.find("spec"))
        if (const auto taints = spec->find("taints"))
            for (const json::Reader& taint : taints->elements())
                if (text_or_empty(taint, "key") == kOutOfService) node.is_out_of_service = true;
    const auto status = object.find("status");
    const auto info = status ? status->find("nodeInfo") : std::nullopt;
    if (!info) return node;
    node.machine_id = text_or_empty(*info, "machineID");
    node.boot_id = text_or_empty(*info, "bootID");
    return node;
}

void require_machine(const NodeObject& node, const std::string& machine_id) {
    if (node.machine_id.empty() || machine_id.empty() || node.machine_id == machine_id) return;
    throw ipam::StoreError(
        ipam::StoreError::Kind::permanent,
        fmt::format("lease store: Node {} is the machine {}, and this one is {} (/etc/machine-id): set \"nodeName\" to "
                    "the name of this node",
                    node.name, node.machine_id, machine_id));
}

} // namespace rdmanet::cluster
