#include "values.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <algorithm>

namespace rdmanet::cluster {
namespace {

std::uint64_t number_in(const json::Reader& text) {
    const auto number = base::parse_integer<std::uint64_t>(text.string());
    if (!number) throw text.unexpected("a number as text");
    return *number;
}

base::IpPrefix prefix_in(const json::Reader& text) {
    const auto prefix = base::IpPrefix::parse(text.string());
    if (!prefix) throw text.unexpected("ADDRESS/LENGTH");
    return *prefix;
}

ipam::Owner owner_in(const json::Reader& root) {
    const json::Reader pod = root.at("pod");
    const json::Reader netns = root.at("netns");
    return {.key = {.network = root.at("network").string(),
                    .container_id = root.at("container").string(),
                    .ifname = root.at("ifname").string()},
            .pod_namespace = pod.at("namespace").string(),
            .pod_name = pod.at("name").string(),
            .pod_uid = pod.at("uid").string(),
            .netns_path = netns.at("path").string(),
            .netns_cookie = number_in(netns.at("cookie")),
            .netns_inode = number_in(netns.at("inode")),
            .pid_view = number_in(netns.at("pidNamespace")),
            .boot_id = root.at("node").at("bootID").string()};
}

template <class Parse>
auto parse_or_nothing(std::string_view text, Parse parse)
    -> std::optional<decltype(parse(json::Document::parse(text).root()))> {
    try {
        const json::Document document = json::Document::parse(text);
        return parse(document.root());
    } catch (const base::Error&) {
        return std::nullopt;
    }
}

} // namespace

std::string to_text(const StoredLease& stored) {
    const ipam::Lease& lease = stored.lease;
    const ipam::Owner& owner = lease.owner;
    json::Writer writer;
    writer.begin_object().member("version", 1).member("address", lease.address.to_string());
    writer.member("space", lease.space).member("slot", lease.slot).member("network", owner.key.network);
    writer.member("container", owner.key.container_id).member("ifname", owner.key.ifname);
    writer.key("pod").begin_object().member("namespace", owner.pod_namespace).member("name", owner.pod_name);
    writer.member("uid", owner.pod_uid).end_object();
    writer.key("node").begin_object().member("name", stored.node_name).member("machineID", stored.machine_id);
    writer.member("bootID", owner.boot_id).end_object();
    writer.key("netns").begin_object().member("path", owner.netns_path);
    writer.member("inode", std::to_string(owner.netns_inode)).member("cookie", std::to_string(owner.netns_cookie));
    writer.member("pidNamespace", std::to_string(owner.pid_view)).end_object();
    return writer.member("since", lease.since)
        .member("cooldown", std::int64_t{lease.cooldown.count()})
        .end_object()
        .to_text();
}

std::optional<StoredLease> parse_stored_lease(std::string_view text) {
    return parse_or_nothing(text, [](const json::Reader& root) -> StoredLease {
        (void)root.at("version").integer(1, 1);
        const json::Reader node = root.at("node");
        return {.lease = {.space = root.at("space").string(),
                          .slot = static_cast<unsigned>(root.at("slot").integer(0, UINT32_MAX)),
                          .address = prefix_in(root.at("address")),
                          .owner = owner_in(root),
                          .since = root.at("since").integer(0, INT64_MAX),
                          .cooldown = std::chrono::seconds(root.at("cooldown").integer(0, UINT32_MAX))},
                .machine_id = node.at("machineID").string(),
                .node_name = node.at("name").string()};
    });
}

std::string to_text(const StoredNode& node) {
    json::Writer writer;
    writer.begin_object().member("name", node.name).member("bootID", node.boot_id).key("earlierBootIDs").begin_array();
    for (std::size_t at = 0; at < std::min(node.earlier.size(), StoredNode::kMostBoots); ++at)
        writer.value(node.earlier[at]);
    writer.end_array();
    if (!node.returned.empty()) writer.member("returnedBootID", node.returned);
    return writer.end_object().to_text();
}

std::optional<StoredNode> parse_stored_node(std::string_view text) {
    return parse_or_nothing(text, [](const json::Reader& root) -> StoredNode {
        StoredNode node{.name = root.at("name").string(), .boot_id = root.at("bootID").string()};
        if (const auto earlier = root.find("earlierBootIDs")) // older versions write none
            for (const json::Reader& boot : earlier->elements()) node.earlier.push_back(boot.string());
        if (const auto returned = root.find("returnedBootID")) node.returned = returned->string();
        return node;
    });
}

std::string to_text(const StoredHold& hold) {
    json::Writer writer;
    return writer.begin_object().member("version", 1).member("heldBy", hold.holder).end_object().to_text();
}

std::optional<StoredHold> parse_stored_hold(std::string_view text) {
    return parse_or_nothing(text, [](const json::Reader& root) -> StoredHold {
        (void)root.at("version").integer(1, 1);
        return {.holder = root.at("heldBy").string()};
    });
}

std::string text_of_range(std::string_view store) {
    json::Writer writer;
    return writer.begin_object().member("version", 1).member("store", store).end_object().to_text();
}

std::string store_of_range(std::string_view text) {
    const auto store = parse_or_nothing(text, [](const json::Reader& root) { return root.at("store").string(); });
    return store && text_of_range(*store) == text ? *store : std::string();
}

std::string to_text(const StoredPlace& place) {
    json::Writer writer;
    writer.begin_object().member("address", place.address_key).member("owner", place.owner_key);
    return writer.member("bootID", place.boot_id).end_object().to_text();
}

std::optional<StoredPlace> parse_stored_place(std::string_view text) {
    return parse_or_nothing(text, [](const json::Reader& root) -> StoredPlace {
        return {.address_key = root.at("address").string(),
                .owner_key = root.at("owner").string(),
                .boot_id = root.at("bootID").string()};
    });
}

} // namespace rdmanet::cluster
