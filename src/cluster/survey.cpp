#include <rdmanet/cluster/survey.hpp>

#include "blocks/objects.hpp"
#include "pools/pool.hpp"
#include "requests.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/place.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace rdmanet::cluster {
namespace {

constexpr const char* kWhereabouts = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces";
constexpr const char* kHash = "kubernetes.io/config.hash"; // annotation of a static pod
constexpr std::size_t kMostStored = 1536 << 10U;           // etcd's --max-request-bytes, by default
// An answer is read as a whole, and has up to 16 MB. A pool has up to 1.5 MB, and a Node up to 100 KB.
constexpr int kSeenPoolsInPage = 8;
constexpr int kWholeNodesInPage = 100;

/// Like text_or_empty(), also for a member of another type.
std::string any_text(const json::Reader& object, std::string_view key) {
    if (!object.is_object()) return {};
    const auto member = object.find(key);
    return member && member->is_string() ? member->string() : std::string();
}

std::string annotation_of(const json::Reader& metadata, std::string_view key) {
    const auto annotations = metadata.find("annotations");
    return annotations ? any_text(*annotations, key) : std::string();
}

SeenRecord parse_record(const std::string& key, const json::Reader& entry, const std::optional<base::IpPrefix>& range) {
    SeenRecord record{.key = key,
                      .address = range ? address_of_key(key, *range) : std::nullopt,
                      .container_id = any_text(entry, "id"),
                      .podref = any_text(entry, "podref"),
                      .ifname = any_text(entry, "ifname"),
                      .text = entry.to_text()};
    if (!record.address)
        record.trouble = fmt::format("key {} is no distance from the first address of the range", base::quoted(key));
    else if (record.container_id.empty() && record.podref.empty())
        record.trouble = "it names neither container nor pod";
    return record;
}

/// What `name` has before `end`, without the dash between. nullopt if it does not end so.
std::optional<std::string> space_before(const std::string& name, const std::string& end) {
    if (name == end) return std::string();
    if (!name.ends_with('-' + end)) return std::nullopt;
    return name.substr(0, name.size() - end.size() - 1);
}

/// The longest end of the name that is an address: "net-fd00--1" is fd00::1 of space "net". A name like "net-1-fd00--2"
/// can be read in two ways, and whereabouts' own reconciler can't tell either.
std::optional<std::pair<std::string, base::IpAddress>> address_in_name(const std::string& name) {
    for (std::size_t from = 0; from < name.size(); ++from) {
        if (from != 0 && name[from - 1] != '-') continue;
        std::string text = name.substr(from);
        std::ranges::replace(text, '-', ':');
        if (const auto address = base::IpAddress::parse(text))
            return std::pair(from == 0 ? std::string() : name.substr(0, from - 1), *address);
    }
    return std::nullopt;
}

bool has_deletion(const json::Reader& metadata) {
    return metadata.find("deletionTimestamp").has_value();
}

/// Of one network in the annotation that Multus writes (Kubernetes Network Plumbing Working Group, "De-facto standard",
/// 4.2.1). Whoever may edit pods can write anything there.
void take_addresses(const json::Reader& network, std::vector<SeenPodAddress>& addresses) {
    if (!network.is_object()) return;
    if (const auto is_default = network.find("default");
        is_default && is_default->is_boolean() && is_default->boolean())
        return;
    const auto ips = network.find("ips");
    if (!ips || !ips->is_array()) return;
    for (const json::Reader& ip : ips->elements())
        if (const auto address = ip.is_string() ? base::IpAddress::parse(ip.string()) : std::nullopt)
            addresses.push_back({.network = any_text(network, "name"), .address = *address});
}

std::vector<SeenPodAddress> addresses_in_status(const std::string& text) {
    std::vector<SeenPodAddress> addresses;
    if (text.empty()) return addresses;
    try {
        const json::Document document = json::Document::parse(text);
        if (!document.root().is_array()) return addresses;
        for (const json::Reader& network : document.root().elements()) take_addresses(network, addresses);
    } catch (const base::Error&) { // it is no list, so it says nothing
    }
    return addresses;
}

bool is_of_pools(const json::Reader& plugin) {
    if (!plugin.is_object()) return false;
    const auto ipam = plugin.find("ipam");
    if (!ipam || !ipam->is_object()) return false;
    const std::string type = any_text(*ipam, "type");
    const std::string store = any_text(*ipam, "store");
    return type == "whereabouts" || (type == "rdmanet" && store != "node");
}

std::string scoped_name_in(const json::Reader& metadata) {
    return fmt::format("{}/{}", any_text(metadata, "namespace"), metadata.at("name").string());
}

/// A sandbox that is being made anew has other addresses than the annotation says (condition
/// PodReadyToStartContainers, Kubernetes 1.29).
bool has_sandbox(const json::Reader& status) {
    const auto conditions = status.find("conditions");
    if (!conditions || !conditions->is_array()) return true;
    for (const json::Reader& condition : conditions->elements())
        if (any_text(condition, "type") == "PodReadyToStartContainers") return any_text(condition, "status") != "False";
    return true;
}

/// What comes from a record goes into the path of a request.
bool is_plain_name(const std::string& name) {
    return !name.empty() && name.front() != '.' && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    });
}

/// JSON pointer (RFC 6901): a key that others wrote may have anything in it.
std::string escaped_for_pointer(const std::string& key) {
    std::string out;
    for (const char c : key)
        if (c == '~')
            out += "~0";
        else if (c == '/')
            out += "~1";
        else
            out.push_back(c);
    return out;
}

Requests requests_of_person(kube::Api& api) {
    return {api, "correct the server in the kubeconfig",
            "give --kubeconfig with a user who may do that, or grant it to the user of the kubeconfig"};
}

/// False: what was to be removed has changed, or is gone.
bool is_done(const WriteOutcome& outcome) {
    if (outcome.done == WriteOutcome::Done::unknown)
        throw ipam::StoreError(ipam::StoreError::Kind::temporary, outcome.trouble);
    return outcome.done == WriteOutcome::Done::yes;
}

} // namespace

unsigned SeenPool::percent() const {
    return static_cast<unsigned>(size * 100 / kMostStored);
}

SeenPool parse_seen_pool(const json::Reader& object) {
    SeenPool pool{.name = object.at("metadata").at("name").string(),
                  .size = object.to_text().size(),
                  .mark = annotation_of(object.at("metadata"), kMarkOfPool)};
    const auto spec = object.find("spec");
    if (!spec || !spec->is_object()) {
        pool.trouble = "it has no \"spec\"";
        return pool;
    }
    pool.range = any_text(*spec, "range");
    pool.subnet = base::IpPrefix::parse(pool.range);
    if (!pool.subnet)
        pool.trouble = fmt::format("its range {} is no prefix", base::quoted(pool.range));
    else if (auto space = space_before(pool.name, pool_name({.subnet = *pool.subnet})))
        pool.space = *std::move(space);
    else
        pool.trouble = fmt::format("its name does not say its range, {}", pool.range);
    const auto allocations = spec->find("allocations");
    if (!allocations || !allocations->is_object()) return pool;
    for (const auto& [key, entry] : allocations->members())
        pool.records.push_back(parse_record(key, entry, pool.subnet));
    std::ranges::stable_sort(pool.records, [](const SeenRecord& a, const SeenRecord& b) {
        return std::tuple(!a.address, a.address) < std::tuple(!b.address, b.address);
    });
    return pool;
}

SeenReservation parse_seen_reservation(const json::Reader& object) {
    const json::Reader metadata = object.at("metadata");
    SeenReservation seen{.name = metadata.at("name").string(),
                         .uid = any_text(metadata, "uid"),
                         .version = any_text(metadata, "resourceVersion")};
    if (auto named = address_in_name(seen.name)) {
        seen.space = std::move(named->first);
        seen.address = named->second;
    } else {
        seen.trouble = "its name is no address";
    }
    if (const auto spec = object.find("spec")) {
        seen.podref = any_text(*spec, "podref");
        seen.ifname = any_text(*spec, "ifname");
        if (std::string id = any_text(*spec, "containerid"); !id.empty()) seen.container_id = std::move(id);
    }
    if (std::string id = annotation_of(metadata, "rdmanet.cni/container-id"); !id.empty()) {
        seen.container_id = std::move(id);
        seen.is_ours = true;
    }
    seen.pod_uid = annotation_of(metadata, "rdmanet.cni/pod-uid");
    seen.node_uid = annotation_of(metadata, "rdmanet.cni/node-uid");
    seen.boot_id = annotation_of(metadata, "rdmanet.cni/boot-id");
    seen.node = annotation_of(metadata, "rdmanet.cni/node-name"); // the label has a hash of a long one
    if (seen.trouble.empty() && seen.podref.empty() && !seen.container_id)
        seen.trouble = "it names neither container nor pod";
    return seen;
}

SeenBlock parse_seen_block(const json::Reader& object) {
    const json::Reader metadata = object.at("metadata");
    SeenBlock seen{.name = metadata.at("name").string(), .is_going = has_deletion(metadata)};
    try {
        const BlockObject block = BlockObject::parse(object);
        seen.space = block.space;
        seen.range = block.range;
        seen.range_uid = block.range_uid;
        seen.block = block.block;
        seen.node = block.node.name;
        seen.node_uid = block.node.uid;
        seen.boot_id = block.node.boot_id;
        seen.is_node_gone = block.gone.has_value();
        seen.in_use = block.in_use;
        seen.in_use_at = block.in_use_at;
        seen.uid = block.uid;
    } catch (const json::ValueError& error) {
        seen.trouble = error.what();
    }
    return seen;
}

SeenPod parse_seen_pod(const json::Reader& object) {
    const json::Reader metadata = object.at("metadata");
    return {.name = scoped_name_in(metadata),
            .uid = any_text(metadata, "uid"),
            .hash = annotation_of(metadata, kHash),
            .is_going = has_deletion(metadata),
            .addresses = addresses_in_status(annotation_of(metadata, "k8s.v1.cni.cncf.io/network-status"))};
}

bool has_pools(const std::string& configuration) {
    try {
        const json::Document document = json::Document::parse(configuration);
        const json::Reader root = document.root();
        if (is_of_pools(root)) return true;
        const auto plugins = root.is_object() ? root.find("plugins") : std::nullopt;
        if (!plugins || !plugins->is_array()) return false;
        const auto all = plugins->elements();
        return std::ranges::any_of(all, is_of_pools);
    } catch (const base::Error&) {
        return false;
    }
}

SeenPodState parse_seen_pod_state(const json::Reader& object) {
    const json::Reader metadata = object.at("metadata");
    SeenPodState pod{.uid = any_text(metadata, "uid"), .is_going = has_deletion(metadata)};
    if (const auto spec = object.find("spec")) pod.node = any_text(*spec, "nodeName");
    pod.hash = annotation_of(metadata, kHash);
    if (const auto status = object.find("status")) {
        const std::string phase = any_text(*status, "phase");
        pod.is_running = phase == "Running" && has_sandbox(*status);
        pod.has_ended = (phase == "Succeeded" || phase == "Failed") && !has_sandbox(*status);
    }
    return pod;
}

std::string Survey::name_space() const {
    const std::string& named = api_.access().name_space;
    return named.empty() ? "kube-system" : named;
}

std::optional<std::vector<SeenPool>> Survey::list_pools(const base::Deadline& deadline) {
    return requests_of_person(api_).list_if_served<SeenPool>(
        {.path = fmt::format("{}/{}/ippools", kWhereabouts, name_space()), .page = kSeenPoolsInPage}, deadline,
        parse_seen_pool);
}

std::optional<std::vector<SeenReservation>> Survey::list_reservations(const base::Deadline& deadline) {
    return requests_of_person(api_).list_if_served<SeenReservation>(
        {.path = fmt::format("{}/{}/overlappingrangeipreservations", kWhereabouts, name_space())}, deadline,
        parse_seen_reservation);
}

std::optional<std::vector<SeenBlock>> Survey::list_blocks(const base::Deadline& deadline) {
    return requests_of_person(api_).list_if_served<SeenBlock>({.path = "/apis/rdmanet.cni/v1alpha1/addressblocks"},
                                                              deadline, parse_seen_block);
}

std::vector<SeenPod> Survey::list_pods(const base::Deadline& deadline) {
    return requests_of_person(api_).list<SeenPod>({.path = "/api/v1/pods", .shape = kube::Shape::metadata}, deadline,
                                                  parse_seen_pod);
}

std::set<std::string> Survey::list_networks_with_pools(const base::Deadline& deadline) {
    const auto names = requests_of_person(api_).list_if_served<std::string>(
        {.path = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions"}, deadline,
        [](const json::Reader& object) -> std::optional<std::string> {
            const auto spec = object.find("spec");
            if (!spec || !has_pools(any_text(*spec, "config"))) return std::nullopt;
            return scoped_name_in(object.at("metadata"));
        });
    return names ? std::set(names->begin(), names->end()) : std::set<std::string>();
}

std::vector<SeenNode> Survey::list_nodes(const base::Deadline& deadline) {
    return requests_of_person(api_).list<SeenNode>(
        {.path = "/api/v1/nodes", .page = kWholeNodesInPage}, deadline, [](const json::Reader& object) {
            NodeObject node = NodeObject::parse(object);
            return std::optional(
                SeenNode{.name = std::move(node.name), .uid = std::move(node.uid), .boot_id = std::move(node.boot_id)});
        });
}

std::optional<SeenPodState> Survey::find_pod(const std::string& name, const base::Deadline& deadline) {
    const auto slash = name.find('/');
    const std::string scope = name.substr(0, slash);
    const std::string pod = slash == std::string::npos ? std::string() : name.substr(slash + 1);
    if (!is_plain_name(scope) || !is_plain_name(pod)) return std::nullopt; // no pod can be called so
    return requests_of_person(api_).find_parsed(fmt::format("/api/v1/namespaces/{}/pods/{}", scope, pod), deadline,
                                                parse_seen_pod_state);
}

bool Survey::remove(const SeenPool& pool, const SeenRecord& record, const base::Deadline& deadline) {
    const std::string path = fmt::format("/spec/allocations/{}", escaped_for_pointer(record.key));
    const std::string target = fmt::format("{}/{}/ippools/{}", kWhereabouts, name_space(), pool.name);
    return is_done(
        requests_of_person(api_).patch(target, std::move(Changes().test(path, record.text).remove(path)), deadline));
}

bool Survey::remove(const SeenReservation& reservation, const base::Deadline& deadline) {
    const std::string target =
        fmt::format("{}/{}/overlappingrangeipreservations/{}", kWhereabouts, name_space(), reservation.name);
    return is_done(requests_of_person(api_).remove(
        target, {.uid = reservation.uid, .resource_version = reservation.version}, deadline));
}

} // namespace rdmanet::cluster
