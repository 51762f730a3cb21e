#include "blocks_api.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/place.hpp>

#include <algorithm>
#include <map>

namespace rdmanet::cluster {
namespace {

constexpr const char* kBlocks = "/apis/rdmanet.cni/v1alpha1/addressblocks";
constexpr const char* kRanges = "/apis/rdmanet.cni/v1alpha1/addressranges";
constexpr const char* kNodes = "/api/v1/nodes";
constexpr const char* kPools = "/apis/whereabouts.cni.cncf.io/v1alpha1";
constexpr int kNames = 1000;              // the server decodes whole objects for them
constexpr std::size_t kMostSelected = 64; // of UIDs in a URL; without the others only more is read

/// A selector, encoded for a query.
std::string selector(const char* key, std::string_view relation, const std::string& value) {
    return fmt::format("?labelSelector={}", percent_encoded(fmt::format("rdmanet.cni/{}{}{}", key, relation, value)));
}

/// One that somebody else has made by hand: its name is taken, and that is all.
std::optional<BlockObject> block_if_any(const json::Reader& object) try {
    return BlockObject::parse(object);
} catch (const json::ValueError&) {
    return std::nullopt;
}

std::string path_of(const PoolName& pool) {
    return path_to(fmt::format("{}/namespaces/{}/ippools", kPools, pool.name_space), pool.name);
}

} // namespace

BlocksApi::BlocksApi(kube::Api& api) : requests_(api, "install rdmanet's CustomResourceDefinitions") {}

DeclaredRanges BlocksApi::list_ranges(From source, const base::Deadline& deadline) {
    DeclaredRanges ranges;
    using Parsed = std::variant<AddressRange, IgnoredRange>;
    const auto parsed = [&]() -> std::optional<std::vector<Parsed>> {
        try {
            return requests_.list_if_served<Parsed>({.path = from(kRanges, source)}, deadline, parse_range);
        } catch (const MissingRight&) {
            // A user without rights is refused before the server looks whether there is such a kind. What kinds there
            // are, every user may know (Kubernetes, ClusterRole system:discovery).
            if (requests_.find(fmt::format("/apis/{}", kBlocksVersion), deadline)) throw;
            return std::nullopt;
        }
    }();
    ranges.is_served = parsed.has_value();
    if (!parsed) return ranges;
    for (const Parsed& one : *parsed) {
        if (const auto* range = std::get_if<AddressRange>(&one)) ranges.declared.push_back(*range);
        if (const auto* ignored = std::get_if<IgnoredRange>(&one)) ranges.ignored.push_back(*ignored);
    }
    return ranges;
}

std::optional<BlockObject> BlocksApi::find_block(const std::string& name, const base::Deadline& deadline) {
    return requests_.find_parsed(path_to(kBlocks, name), deadline, BlockObject::parse);
}

std::vector<BlockObject> BlocksApi::recall_blocks_of(const std::string& node, const base::Deadline& deadline) {
    return requests_
        .list_if_served<BlockObject>({.path = from(kBlocks + selector("node", "=", label_value(node)), From::memory)},
                                     deadline, block_if_any)
        .value_or(std::vector<BlockObject>());
}

std::set<std::string> BlocksApi::recall_names(const std::string& range_uid, const base::Deadline& deadline) {
    const Listing names{
        .path =
            from(fmt::format("{}{}&includeObject=None", kBlocks, selector("range-uid", "=", range_uid)), From::memory),
        .page = kNames,
        .shape = kube::Shape::table};
    // The first column is the name, in every table of custom resources (apiextensions, tableconvertor.New()).
    const auto all = requests_.list<std::string>(names, deadline, [](const json::Reader& row) {
        const auto cells = row.at("cells").elements();
        return cells.empty() ? std::nullopt : std::optional(cells.front().string());
    });
    return {all.begin(), all.end()};
}

std::vector<base::IpPrefix> BlocksApi::list_other_blocks(const std::string& space, const base::IpPrefix& subnet,
                                                         std::vector<std::string> but_of_ranges,
                                                         const base::Deadline& deadline) {
    // Whoever has no such label is selected, too (Kubernetes, labels, "Set-based requirement").
    but_of_ranges.resize(std::min(but_of_ranges.size(), kMostSelected));
    const std::string selected =
        but_of_ranges.empty() ? ""
                              : selector("range-uid", " notin ", fmt::format("({})", base::join(but_of_ranges, ",")));
    return requests_
        .list_if_served<base::IpPrefix>(
            {.path = kBlocks + selected, .page = kNames, .shape = kube::Shape::metadata}, deadline,
            [&](const json::Reader& object) {
                const auto block = block_of_name(space, object.at("metadata").at("name").string());
                return block && overlap(*block, subnet) ? block : std::nullopt;
            })
        .value_or(std::vector<base::IpPrefix>());
}

WriteOutcome BlocksApi::create(const BlockObject& block, const base::Deadline& deadline) {
    return requests_.create(kBlocks, block.to_text(), deadline);
}

WriteOutcome BlocksApi::write(const BlockObject& block, const std::string& version, const base::Deadline& deadline) {
    return requests_.patch(path_to(kBlocks, object_name(block.space, block.block)),
                           std::move(Changes()
                                         .test("/metadata/resourceVersion", quoted_json(version))
                                         .set("/spec", block.spec_text())
                                         .set("/metadata/labels", block.labels_text())
                                         .set("/metadata/annotations", block.annotations_text())
                                         .set("/metadata/finalizers", fmt::format("[\"{}\"]", kFinalizer))),
                           deadline);
}

WriteOutcome BlocksApi::remove(const std::string& name, const std::string& uid, const std::string& version,
                               const base::Deadline& deadline) {
    const std::string path = path_to(kBlocks, name);
    WriteOutcome let_go = requests_.patch(
        path,
        std::move(Changes().test("/metadata/resourceVersion", quoted_json(version)).set("/metadata/finalizers", "[]")),
        deadline);
    if (let_go.done != WriteOutcome::Done::yes) return let_go;
    WriteOutcome removed = requests_.remove(path, {.uid = uid, .resource_version = let_go.version}, deadline);
    // One that somebody has deleted went with its finalizer.
    if (removed.done == WriteOutcome::Done::no && !find_block(name, deadline)) return let_go;
    return removed;
}

std::optional<std::vector<PoolName>> BlocksApi::list_pools(const base::Deadline& deadline) {
    return requests_.list_if_served<PoolName>(
        {.path = fmt::format("{}/ippools", kPools), .shape = kube::Shape::metadata}, deadline,
        [](const json::Reader& object) {
            const json::Reader metadata = object.at("metadata");
            return std::optional(PoolName{metadata.at("namespace").string(), metadata.at("name").string()});
        });
}

std::vector<PoolName> BlocksApi::pools_with(std::vector<PoolName> pools, const std::string& space,
                                            const base::IpPrefix& subnet, const base::Deadline& deadline) {
    std::map<std::string, bool> nodes;
    const auto is_node = [&](const std::string& name) {
        const auto [known, is_new] = nodes.try_emplace(name);
        if (is_new) known->second = find_node(name, From::etcd, deadline).has_value();
        return known->second;
    };
    std::erase_if(pools, [&](const PoolName& pool) { return !is_pool_of(space, subnet, pool.name, is_node); });
    return pools;
}

std::optional<Pool> BlocksApi::find_pool(const PoolName& name, const base::Deadline& deadline) {
    return requests_.find_parsed(path_of(name), deadline,
                                 [](const json::Reader& object) { return parse_pool(object, 0, std::nullopt); });
}

WriteOutcome BlocksApi::mark_pool(const PoolName& name, const Pool& pool, const std::string& mark,
                                  const base::Deadline& deadline) {
    constexpr const char* kPath = "/metadata/annotations/rdmanet.cni~1address-range"; // "~1" is a slash (RFC 6901)
    Changes changes;
    changes.test("/metadata/resourceVersion", quoted_json(pool.version));
    if (mark.empty())
        changes.remove(kPath);
    else if (pool.has_annotations)
        changes.set(kPath, quoted_json(mark));
    else
        changes.set("/metadata/annotations", fmt::format("{{\"{}\":{}}}", kMarkOfPool, quoted_json(mark)));
    return requests_.patch(path_of(name), std::move(changes), deadline);
}

std::optional<NodeObject> BlocksApi::find_node(const std::string& name, From source, const base::Deadline& deadline) {
    return requests_.find_parsed(from(path_to(kNodes, name), source), deadline, NodeObject::parse);
}

} // namespace rdmanet::cluster
