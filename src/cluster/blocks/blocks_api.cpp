#include "blocks_api.hpp"

#include "../pool.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/whereabouts_store.hpp>
#include <rdmanet/ipam/block_cut.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/json/writer.hpp>

#include <algorithm>

namespace rdmanet::cluster {
namespace {

using ipam::StoreError;

constexpr const char* kBlocks = "/apis/rdmanet.cni/v1alpha1/addressblocks";
constexpr const char* kRanges = "/apis/rdmanet.cni/v1alpha1/addressranges";
constexpr const char* kNodes = "/api/v1/nodes";
constexpr const char* kOfWhereabouts = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces";
// Objects in one answer: it must fit into http::Limits::most_bytes, and the server builds it in its memory.
constexpr int kWholeNodes = 100; // with up to 50 images each (kubelet, nodeStatusMaxImages)
constexpr int kNames = 1000;     // the server decodes whole objects for them
constexpr unsigned kMostNamesAtOnce = 20000;

/// "KEY=VALUE" in a query.
std::string label(const char* key, const std::string& value) {
    return percent_encoded(fmt::format("rdmanet.cni/{}={}", key, value));
}

std::string label_of_range(const std::string& space, const base::IpPrefix& range) {
    return label("range", label_value(object_name(space, range)));
}

template <class Parsed>
std::optional<Parsed> parsed(const std::optional<kube::Object>& object, const std::string& path) {
    if (!object) return std::nullopt;
    try {
        return Parsed::parse(object->content.root());
    } catch (const json::ValueError& error) {
        throw StoreError(StoreError::Kind::permanent, fmt::format("lease store: {}: {}", path, error.what()));
    }
}

/// Of a whole pool, or of its metadata.
PoolHead head_of(const json::Reader& object) {
    const json::Reader metadata = object.at("metadata");
    PoolHead pool{.name = metadata.at("name").string(),
                  .mark = mark_of_pool(metadata),
                  .version = metadata.at("resourceVersion").string(),
                  .has_annotations = metadata.find("annotations").has_value()};
    const auto spec = object.find("spec");
    const auto allocations = spec ? spec->find("allocations") : std::nullopt;
    if (allocations) pool.records = allocations->members().size();
    return pool;
}

} // namespace

std::optional<RangeObject> BlocksApi::find_range(const std::string& name, const base::Deadline& deadline) {
    const std::string path = path_to(kRanges, name);
    return parsed<RangeObject>(requests_.find(path, deadline), path);
}

std::optional<RangeObject> BlocksApi::recall_range(const std::string& name, const base::Deadline& deadline) {
    const std::string path = from(path_to(kRanges, name), From::memory);
    return parsed<RangeObject>(requests_.find(path, deadline), path);
}

std::vector<RangeObject> BlocksApi::list_ranges(const std::string& space, const base::Deadline& deadline) {
    return requests_.list<RangeObject>(
        {.path = fmt::format("{}?labelSelector={}", kRanges, label("space", label_value(space)))}, deadline,
        [&](const json::Reader& object) {
            RangeObject range = RangeObject::parse(object);
            return range.space == space ? std::optional(std::move(range)) : std::nullopt;
        });
}

std::vector<RangeObject> BlocksApi::list_all_ranges(const base::Deadline& deadline) {
    return requests_.list<RangeObject>({.path = kRanges}, deadline,
                                       [](const json::Reader& object) -> std::optional<RangeObject> {
                                           try {
                                               return RangeObject::parse(object);
                                           } catch (const json::ValueError&) { // who works in its space is told
                                               return std::nullopt;
                                           }
                                       });
}

/// A user without rights is refused before the server looks whether there is such a kind. What kinds there are, every
/// user may know (Kubernetes, ClusterRole system:discovery).
bool BlocksApi::knows_ranges(const base::Deadline& deadline) {
    return requests_.find(fmt::format("/apis/{}", kBlocksVersion), deadline).has_value();
}

WriteOutcome BlocksApi::create(const RangeObject& range, const base::Deadline& deadline) {
    return requests_.create(kRanges, range.to_text(), deadline);
}

WriteOutcome BlocksApi::confirm(const RangeObject& range, const base::Deadline& deadline) {
    return requests_.patch(path_to(kRanges, range.name()),
                           Changes()
                               .test("/metadata/resourceVersion", quoted_json(range.version))
                               .set("/spec/confirmed", "true")
                               .set("/metadata/finalizers", fmt::format("[\"{}\"]", kFinalizer)),
                           deadline);
}

WriteOutcome BlocksApi::remove(const RangeObject& range, const base::Deadline& deadline) {
    return requests_.remove(path_to(kRanges, range.name()), {.uid = range.uid, .resource_version = range.version},
                            deadline);
}

WriteOutcome BlocksApi::let_go(const RangeObject& range, const base::Deadline& deadline) {
    return requests_.patch(
        path_to(kRanges, range.name()),
        Changes().test("/metadata/resourceVersion", quoted_json(range.version)).set("/metadata/finalizers", "[]"),
        deadline);
}

std::optional<BlockObject> BlocksApi::find_block(const std::string& name, const base::Deadline& deadline) {
    const std::string path = path_to(kBlocks, name);
    return parsed<BlockObject>(requests_.find(path, deadline), path);
}

std::vector<BlockObject> BlocksApi::list_blocks_by(const std::string& labels, const base::Deadline& deadline) {
    return requests_.list<BlockObject>({.path = fmt::format("{}?labelSelector={}", kBlocks, labels)}, deadline,
                                       [](const json::Reader& object) -> std::optional<BlockObject> {
                                           try {
                                               return BlockObject::parse(object);
                                           } catch (
                                               const json::ValueError&) { // somebody else made it: its name is taken,
                                               return std::nullopt;       // and that is all
                                           }
                                       });
}

std::vector<BlockObject> BlocksApi::list_blocks(const std::string& space, const base::IpPrefix& range,
                                                const base::Deadline& deadline) {
    return list_blocks_by(label_of_range(space, range), deadline);
}

std::vector<BlockObject> BlocksApi::list_blocks_of(const std::string& node, const base::Deadline& deadline) {
    // From the server's memory: etcd has no labels, so the server would read all blocks of the cluster. Whatever is done
    // with an object that is out of date tests its version.
    return list_blocks_by(fmt::format("{}&resourceVersion=0", label("node", label_value(node))), deadline);
}

/// Lists from the server's memory have no pages.
std::set<std::string> BlocksApi::list_block_names(const std::string& space, const base::IpPrefix& range,
                                                  base::Uint128 most, const base::Deadline& deadline) {
    return list_block_names_by(label_of_range(space, range), most <= kMostNamesAtOnce ? From::memory : From::etcd,
                               deadline);
}

std::set<std::string> BlocksApi::list_block_names_by(const std::string& labels, From source,
                                                     const base::Deadline& deadline) {
    const Listing names_only{.path = fmt::format("{}?includeObject=None{}&labelSelector={}", kBlocks,
                                                 source == From::memory ? "&resourceVersion=0" : "", labels),
                             .page = kNames,
                             .shape = kube::Shape::table};
    // The first column is the name, in every table of custom resources (apiextensions, tableconvertor.New()).
    const auto names = requests_.list<std::string>(names_only, deadline, [](const json::Reader& row) {
        const auto cells = row.at("cells").elements();
        return cells.empty() ? std::nullopt : std::optional(cells.front().string());
    });
    return {names.begin(), names.end()};
}

bool BlocksApi::has_blocks(const RangeObject& range, const base::Deadline& deadline) {
    const std::string its_label = label_of_range(range.space, range.subnet);
    const std::set<std::string> remembered = list_block_names_by(its_label, From::memory, deadline);
    // The memory may still have what has just gone.
    if (!remembered.empty() && find_block(*remembered.begin(), deadline)) return true;
    return !list_block_names_by(its_label, From::etcd, deadline).empty();
}

std::vector<std::string> BlocksApi::list_foreign_blocks(const RangeObject& range, const base::Deadline& deadline) {
    const std::string its_label = label_value(object_name(range.space, range.subnet));
    std::vector<std::string> foreign;
    const auto overlapping = [&](const std::string& name) {
        const auto block = block_of_name(range.space, name);
        return block && overlap(*block, range.subnet) ? block : std::nullopt;
    };
    for (const std::string& name :
         list_block_names_by(percent_encoded(fmt::format("rdmanet.cni/range!={}", its_label)), From::etcd, deadline))
        if (overlapping(name)) foreign.push_back(name);
    std::optional<ipam::BlockCut> cut;
    if (range.store == kInBlocks) cut.emplace(range.subnet, range.block_size, range.requestable);
    for (const std::string& name : list_block_names_by(label("range", its_label), From::etcd, deadline))
        if (const auto block = overlapping(name); block && (!cut || cut->block_of(block->address()) != *block))
            foreign.push_back(name);
    return foreign;
}

WriteOutcome BlocksApi::create(const BlockObject& block, const base::Deadline& deadline) {
    return requests_.create(kBlocks, block.to_text(), deadline);
}

WriteOutcome BlocksApi::write(const BlockObject& block, const std::string& version, Finalizer finalizer,
                              const base::Deadline& deadline) {
    return requests_.patch(
        path_to(kBlocks, block.name()),
        Changes()
            .test("/metadata/resourceVersion", quoted_json(version))
            .set("/spec", block.spec_text())
            .set("/metadata/labels", block.labels_text())
            .set("/metadata/annotations", block.annotations_text())
            .set("/metadata/finalizers", finalizer == Finalizer::kept ? fmt::format("[\"{}\"]", kFinalizer) : "[]"),
        deadline);
}

WriteOutcome BlocksApi::remove(const BlockObject& block, const std::string& version, const base::Deadline& deadline) {
    return requests_.remove(path_to(kBlocks, block.name()), {.uid = block.uid, .resource_version = version}, deadline);
}

const std::string& BlocksApi::name_space() const {
    static const std::string kUsual = "kube-system"; // whereabouts' own
    const std::string& name_space = requests_.api().access().name_space;
    return name_space.empty() ? kUsual : name_space;
}

std::string BlocksApi::path_of_pools() const {
    return fmt::format("{}/{}/ippools", kOfWhereabouts, name_space());
}

std::vector<PoolHead> BlocksApi::list_pools(const base::Deadline& deadline) {
    return requests_
        .list_if_served<PoolHead>({.path = path_of_pools(), .shape = kube::Shape::metadata}, deadline,
                                  [](const json::Reader& object) { return std::optional(head_of(object)); })
        .value_or(std::vector<PoolHead>());
}

std::optional<PoolHead> BlocksApi::find_pool(const std::string& name, const base::Deadline& deadline) {
    const std::string path = fmt::format("{}/{}", path_of_pools(), name);
    const auto object = requests_.find(path, deadline);
    if (!object) return std::nullopt;
    try {
        return head_of(object->content.root());
    } catch (const json::ValueError& error) {
        throw StoreError(StoreError::Kind::permanent, fmt::format("lease store: {}: {}", path, error.what()));
    }
}

WriteOutcome BlocksApi::create_marked_pool(const std::string& space, const base::IpPrefix& subnet,
                                           const std::string& mark, const base::Deadline& deadline) {
    const std::string object = empty_pool_text({.space = space, .subnet = subnet}, mark);
    return requests_.create(path_of_pools(), object, deadline);
}

WriteOutcome BlocksApi::mark_pool(const PoolHead& pool, const std::string& mark, const base::Deadline& deadline) {
    constexpr const char* kPath = "/metadata/annotations/rdmanet.cni~1store"; // "~1" is a slash (RFC 6901)
    Changes changes;
    changes.test("/metadata/resourceVersion", quoted_json(pool.version));
    if (mark.empty())
        changes.remove(kPath);
    else if (pool.has_annotations)
        changes.set(kPath, quoted_json(mark));
    else
        changes.set("/metadata/annotations", fmt::format("{{\"{}\":{}}}", kStoreOfPool, quoted_json(mark)));
    return requests_.patch(fmt::format("{}/{}", path_of_pools(), pool.name), std::move(changes), deadline);
}

std::optional<NodeObject> BlocksApi::find_node(const std::string& name, const base::Deadline& deadline) {
    const std::string path = path_to(kNodes, name);
    return parsed<NodeObject>(requests_.find(path, deadline), path);
}

std::optional<NodeObject> BlocksApi::recall_node(const std::string& name, const base::Deadline& deadline) {
    const std::string path = from(path_to(kNodes, name), From::memory);
    return parsed<NodeObject>(requests_.find(path, deadline), path);
}

std::set<std::string> BlocksApi::list_of_nodes(std::string_view member, const base::Deadline& deadline) {
    const auto all = requests_.list<std::string>(
        {.path = kNodes, .shape = kube::Shape::metadata}, deadline,
        [&](const json::Reader& object) { return std::optional(object.at("metadata").at(member).string()); });
    return {all.begin(), all.end()};
}

std::set<std::string> BlocksApi::list_node_names(const base::Deadline& deadline) {
    return list_of_nodes("name", deadline);
}

std::set<std::string> BlocksApi::list_node_uids(const base::Deadline& deadline) {
    return list_of_nodes("uid", deadline);
}

std::set<std::string> BlocksApi::list_boot_ids(const base::Deadline& deadline) {
    const auto boots =
        requests_.list<std::string>({.path = kNodes, .page = kWholeNodes}, deadline, [](const json::Reader& object) {
            return std::optional(NodeObject::parse(object).boot_id);
        });
    return {boots.begin(), boots.end()};
}

} // namespace rdmanet::cluster
