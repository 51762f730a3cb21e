#include "blocks_api.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/json/writer.hpp>

#include <algorithm>

namespace rdmanet::cluster {
namespace {

using ipam::StoreError;
using kube::Refusal;

constexpr const char* kBlocks = "/apis/rdmanet.cni/v1alpha1/addressblocks";
constexpr const char* kRanges = "/apis/rdmanet.cni/v1alpha1/addressranges";
constexpr const char* kNodes = "/api/v1/nodes";
constexpr const char* kOfWhereabouts = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces";
// Objects in one answer: the server builds each answer in its memory.
constexpr int kPage = 1000;

std::string path_to(const char* kind, const std::string& name) {
    return fmt::format("{}/{}", kind, name);
}

/// "KEY=VALUE" in a query. Values of labels have nothing else in them that must be encoded (RFC 3986, section 3.4).
std::string label(const char* key, const std::string& value) {
    return fmt::format("rdmanet.cni%2F{}%3D{}", key, value);
}

std::string label_of_range(const std::string& space, const base::IpPrefix& range) {
    return label("range", label_value(object_name(space, range)));
}

std::string quoted_json(const std::string& text) {
    return json::Writer().value(text).to_text();
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

WriteOutcome outcome_of(const kube::Object& object) {
    WriteOutcome outcome{.done = WriteOutcome::Done::yes, .date = object.date};
    const auto metadata = object.content.root().find("metadata");
    if (!metadata) return outcome; // a Status: it is gone
    if (const auto version = metadata->find("resourceVersion")) outcome.version = version->string();
    if (const auto uid = metadata->find("uid")) outcome.uid = uid->string();
    outcome.is_going = metadata->find("deletionTimestamp").has_value();
    return outcome;
}

} // namespace

void BlocksApi::refuse(const kube::Refused& refused) const {
    const bool is_temporary =
        refused.why == Refusal::too_many || refused.why == Refusal::unavailable || refused.why == Refusal::conflict;
    std::string cure;
    if (refused.why == Refusal::not_found) cure = ": install rdmanet's CustomResourceDefinitions";
    if (refused.why == Refusal::forbidden)
        cure = fmt::format(": grant that right to the user of the kubeconfig{}{}",
                           api_.access().user.empty() ? "" : ", ", api_.access().user);
    if (refused.why == Refusal::unauthorized) cure = ": renew the token or certificate in the kubeconfig";
    throw StoreError(is_temporary ? StoreError::Kind::temporary : StoreError::Kind::permanent,
                     fmt::format("lease store: {}{}", refused.message, cure));
}

std::optional<kube::Object> BlocksApi::find(const std::string& path, const base::Deadline& deadline,
                                            kube::Shape shape) {
    try {
        kube::Outcome outcome = api_.get(path, deadline, shape);
        if (auto* object = std::get_if<kube::Object>(&outcome)) {
            date_ = object->date;
            return std::move(*object);
        }
        const auto& refused = std::get<kube::Refused>(outcome);
        if (refused.why == Refusal::not_found) return std::nullopt;
        refuse(refused);
    } catch (const http::TransportError& error) {
        throw StoreError(StoreError::Kind::unreachable, fmt::format("lease store: {}", error.what()));
    }
}

/// Each object of a list, in pages (Kubernetes API concepts, "Retrieving large results sets in chunks"). False if the
/// server does not know the kind.
bool BlocksApi::for_each_if_served(const std::string& path, kube::Shape shape, const base::Deadline& deadline,
                                   const std::function<void(const json::Reader&)>& act) {
    const std::string first = fmt::format("{}{}limit={}", path, path.find('?') == std::string::npos ? '?' : '&', kPage);
    std::string next = first;
    for (;;) {
        const auto page = find(next, deadline, shape);
        if (!page) return false;
        try {
            const json::Reader list = page->content.root();
            const auto items = list.find("items"); // null in an empty list of metadata
            if (items)
                for (const json::Reader& object : items->elements()) act(object);
            const auto more = list.at("metadata").find("continue");
            if (!more || more->string().empty()) return true;
            next = fmt::format("{}&continue={}", first, more->string());
        } catch (const json::ValueError& error) {
            throw StoreError(StoreError::Kind::permanent, fmt::format("lease store: {}: {}", path, error.what()));
        }
    }
}

void BlocksApi::for_each(const std::string& path, kube::Shape shape, const base::Deadline& deadline,
                         const std::function<void(const json::Reader&)>& act) {
    if (for_each_if_served(path, shape, deadline, act)) return;
    throw StoreError(StoreError::Kind::permanent, "lease store: the API server does not know AddressBlocks: install "
                                                  "rdmanet's CustomResourceDefinitions");
}

WriteOutcome BlocksApi::write(const std::function<kube::Outcome()>& ask, std::initializer_list<Refusal> means_no) {
    try {
        const kube::Outcome outcome = ask();
        if (const auto* object = std::get_if<kube::Object>(&outcome)) {
            date_ = object->date;
            return outcome_of(*object);
        }
        const auto& refused = std::get<kube::Refused>(outcome);
        if (std::find(means_no.begin(), means_no.end(), refused.why) != means_no.end())
            return {.done = WriteOutcome::Done::no};
        if (refused.may_have_been_done) return {.done = WriteOutcome::Done::unknown};
        refuse(refused);
    } catch (const http::TransportError& error) {
        if (error.may_have_been_done()) return {.done = WriteOutcome::Done::unknown};
        throw StoreError(StoreError::Kind::unreachable, fmt::format("lease store: {}", error.what()));
    }
}

WriteOutcome BlocksApi::patch(const std::string& path, Changes changes, const base::Deadline& deadline) {
    return write([&] { return api_.patch(path, changes.to_text(), deadline); },
                 {Refusal::invalid, Refusal::not_found, Refusal::conflict});
}

std::optional<RangeObject> BlocksApi::find_range(const std::string& name, const base::Deadline& deadline) {
    const std::string path = path_to(kRanges, name);
    return parsed<RangeObject>(find(path, deadline), path);
}

std::vector<RangeObject> BlocksApi::list_ranges(const std::string& space, const base::Deadline& deadline) {
    std::vector<RangeObject> ranges;
    for_each(fmt::format("{}?labelSelector={}", kRanges, label("space", label_value(space))), kube::Shape::whole,
             deadline, [&](const json::Reader& object) {
                 RangeObject range = RangeObject::parse(object);
                 if (range.space == space) ranges.push_back(std::move(range));
             });
    return ranges;
}

WriteOutcome BlocksApi::create(const RangeObject& range, const base::Deadline& deadline) {
    return write([&] { return api_.create(kRanges, range.to_text(), deadline); }, {Refusal::already_exists});
}

WriteOutcome BlocksApi::confirm(const RangeObject& range, const base::Deadline& deadline) {
    return patch(path_to(kRanges, range.name()),
                 Changes()
                     .test("/metadata/resourceVersion", quoted_json(range.version))
                     .set("/spec/confirmed", "true")
                     .set("/metadata/finalizers", fmt::format("[\"{}\"]", kFinalizer)),
                 deadline);
}

WriteOutcome BlocksApi::remove(const RangeObject& range, const base::Deadline& deadline) {
    return write(
        [&] {
            return api_.remove(path_to(kRanges, range.name()), {.uid = range.uid, .resource_version = range.version},
                               deadline);
        },
        {Refusal::not_found, Refusal::conflict});
}

std::optional<BlockObject> BlocksApi::find_block(const std::string& name, const base::Deadline& deadline) {
    const std::string path = path_to(kBlocks, name);
    return parsed<BlockObject>(find(path, deadline), path);
}

std::vector<BlockObject> BlocksApi::list_blocks_by(const std::string& labels, const base::Deadline& deadline) {
    std::vector<BlockObject> blocks;
    for_each(fmt::format("{}?labelSelector={}", kBlocks, labels), kube::Shape::whole, deadline,
             [&](const json::Reader& object) {
                 try {
                     blocks.push_back(BlockObject::parse(object));
                 } catch (const json::ValueError&) { // somebody else made it: its name is taken, and that is all
                 }
             });
    return blocks;
}

std::vector<BlockObject> BlocksApi::list_blocks(const std::string& space, const base::IpPrefix& range,
                                                const base::Deadline& deadline) {
    return list_blocks_by(label_of_range(space, range), deadline);
}

std::vector<BlockObject> BlocksApi::list_blocks_of(const std::string& node, const std::string& space,
                                                   const base::IpPrefix& range, const base::Deadline& deadline) {
    return list_blocks_by(fmt::format("{}%2C{}", label_of_range(space, range), label("node", label_value(node))),
                          deadline);
}

std::set<std::string> BlocksApi::list_block_names(const std::string& space, const base::IpPrefix& range,
                                                  const base::Deadline& deadline) {
    std::set<std::string> names;
    const std::string path =
        fmt::format("{}?includeObject=None&resourceVersion=0&labelSelector={}", kBlocks, label_of_range(space, range));
    const auto table = find(path, deadline, kube::Shape::table);
    if (!table) return names;
    try {
        const auto rows = table->content.root().find("rows");
        if (!rows) return names;
        // The first column is the name, in every table of custom resources (apiextensions, tableconvertor.New()).
        for (const json::Reader& row : rows->elements()) {
            const auto cells = row.at("cells").elements();
            if (!cells.empty()) names.insert(cells.front().string());
        }
    } catch (const json::ValueError& error) {
        throw StoreError(StoreError::Kind::permanent, fmt::format("lease store: {}: {}", path, error.what()));
    }
    return names;
}

WriteOutcome BlocksApi::create(const BlockObject& block, const base::Deadline& deadline) {
    return write([&] { return api_.create(kBlocks, block.to_text(), deadline); }, {Refusal::already_exists});
}

WriteOutcome BlocksApi::write(const BlockObject& block, const std::string& version, Finalizer finalizer,
                              const base::Deadline& deadline) {
    return patch(
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
    return write(
        [&] {
            return api_.remove(path_to(kBlocks, block.name()), {.uid = block.uid, .resource_version = version},
                               deadline);
        },
        {Refusal::not_found, Refusal::conflict});
}

std::string BlocksApi::path_of_pools() const {
    const std::string& name_space = api_.access().name_space;
    return fmt::format("{}/{}/ippools", kOfWhereabouts, name_space.empty() ? "kube-system" : name_space);
}

std::vector<std::string> BlocksApi::list_pools(const base::Deadline& deadline) {
    std::vector<std::string> names;
    (void)for_each_if_served(path_of_pools(), kube::Shape::metadata, deadline, [&](const json::Reader& object) {
        names.push_back(object.at("metadata").at("name").string());
    });
    return names;
}

std::size_t BlocksApi::count_pool_records(const std::string& pool, const base::Deadline& deadline) {
    const std::string path = fmt::format("{}/{}", path_of_pools(), pool);
    const auto object = find(path, deadline);
    if (!object) return 0;
    try {
        const auto allocations = object->content.root().at("spec").find("allocations");
        return allocations ? allocations->members().size() : 0;
    } catch (const json::ValueError& error) {
        throw StoreError(StoreError::Kind::permanent, fmt::format("lease store: {}: {}", path, error.what()));
    }
}

std::optional<NodeObject> BlocksApi::find_node(const std::string& name, const base::Deadline& deadline) {
    const std::string path = path_to(kNodes, name);
    return parsed<NodeObject>(find(path, deadline), path);
}

std::set<std::string> BlocksApi::list_node_uids(const base::Deadline& deadline) {
    std::set<std::string> uids;
    for_each(kNodes, kube::Shape::metadata, deadline,
             [&](const json::Reader& object) { uids.insert(object.at("metadata").at("uid").string()); });
    return uids;
}

std::set<std::string> BlocksApi::list_boot_ids(const base::Deadline& deadline) {
    std::set<std::string> boots;
    for_each(kNodes, kube::Shape::whole, deadline,
             [&](const json::Reader& object) { boots.insert(NodeObject::parse(object).boot_id); });
    return boots;
}

} // namespace rdmanet::cluster
