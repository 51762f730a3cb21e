#include "api.hpp"

#include "../blocks/objects.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/json/writer.hpp>

namespace rdmanet::cluster {
namespace {

constexpr std::string_view kVersion = "whereabouts.cni.cncf.io/v1alpha1";
constexpr std::string_view kContainer = "rdmanet.cni/container-id";
constexpr std::string_view kPodUid = "rdmanet.cni/pod-uid";
constexpr std::string_view kBoot = "rdmanet.cni/boot-id";
constexpr std::string_view kMakerUid = "rdmanet.cni/node-uid";
constexpr std::string_view kMakerMachine = "rdmanet.cni/machine-id";
constexpr std::string_view kMakerName = "rdmanet.cni/node-name";
constexpr std::string_view kPoolAddress = "rdmanet.cni/address";
constexpr std::string_view kPoolRange = "rdmanet.cni/range"; // whose pool has given the address
constexpr std::string_view kPoolSpace = "rdmanet.cni/space";
constexpr std::string_view kMakerLabel = "rdmanet.cni/node";

std::string record_text(const ipam::Owner& owner) {
    json::Writer record;
    record.begin_object().member("id", owner.key.container_id).member("podref", podref_of(owner));
    return record.member("ifname", owner.key.ifname).end_object().to_text();
}

/// The patch of a pool. The object goes on without managedFields: nobody applies pools, and with many records the
/// server needs more time for these than for all the rest. Without them it does not make them again
/// (structured-merge-diff, managedfields, skipNonAppliedManager).
Changes of_pool(Changes changes) {
    changes.set("/metadata/managedFields", "[{}]");
    return changes;
}

std::string path_to(std::string_view key) {
    return fmt::format("/spec/allocations/{}", key);
}

/// JSON pointer (RFC 6901): "~1" is a slash.
std::string annotation_path(std::string_view name) {
    const auto slash = name.find('/');
    return fmt::format("/metadata/annotations/{}~1{}", name.substr(0, slash), name.substr(slash + 1));
}

void write_if_any(json::Writer& writer, std::string_view key, const std::string& value) {
    if (!value.empty()) writer.member(key, value);
}

void write_annotations(json::Writer& writer, const Place& place, const base::IpAddress& address,
                       const ipam::Owner& owner, const ThisNode& node) {
    writer.begin_object().member(kContainer, owner.key.container_id).member(kBoot, owner.boot_id);
    write_if_any(writer, kPodUid, owner.pod_uid);
    write_if_any(writer, kMakerName, node.name);
    write_if_any(writer, kMakerUid, node.uid);
    write_if_any(writer, kMakerMachine, node.machine_id);
    writer.member(kPoolAddress, address.to_string()).member(kPoolRange, place.subnet.to_string());
    write_if_any(writer, kPoolSpace, place.space);
    writer.end_object();
}

void write_reservation_spec(json::Writer& writer, std::string_view podref, std::string_view ifname) {
    writer.begin_object().member("podref", podref).member("ifname", ifname).end_object();
}

/// The pool is the object that was read, and no AddressRange has marked it. A member that is absent is null for a
/// test, but what should have the member must be there (evanphx/json-patch, which the server uses).
Changes unmarked(const Pool& pool) {
    Changes changes;
    changes.test("/metadata/uid", quoted_json(pool.uid));
    changes.test(pool.has_annotations ? annotation_path(kMarkOfPool) : "/metadata/annotations", "null");
    return changes;
}

} // namespace

Reservation parse_reservation(const json::Reader& object) {
    const json::Reader metadata = object.at("metadata");
    const json::Reader spec = object.at("spec");
    Reservation reservation{.uid = metadata.at("uid").string(),
                            .version = metadata.at("resourceVersion").string(),
                            .podref = text_or_empty(spec, "podref"),
                            .ifname = text_or_empty(spec, "ifname")};
    const auto annotations = metadata.find("annotations");
    if (!annotations) return reservation;
    if (const auto container = annotations->find(kContainer)) reservation.container_id = container->string();
    reservation.maker = {.name = text_or_empty(*annotations, kMakerName),
                         .uid = text_or_empty(*annotations, kMakerUid),
                         .machine_id = text_or_empty(*annotations, kMakerMachine),
                         .boot_id = text_or_empty(*annotations, kBoot)};
    reservation.address = base::IpAddress::parse(text_or_empty(*annotations, kPoolAddress));
    if (const auto subnet = base::IpPrefix::parse(text_or_empty(*annotations, kPoolRange)))
        reservation.place = Place{.space = text_or_empty(*annotations, kPoolSpace), .subnet = *subnet};
    return reservation;
}

std::string podref_of(const ipam::Owner& owner) {
    return fmt::format("{}/{}", owner.pod_namespace, owner.pod_name);
}

std::string WhereaboutsApi::path_of(Kind kind, const std::string& name) const {
    return fmt::format("/apis/{}/namespaces/{}{}{}{}", kVersion, name_space_,
                       kind == Kind::pool ? "/ippools" : "/overlappingrangeipreservations", name.empty() ? "" : "/",
                       name);
}

WhereaboutsApi::WhereaboutsApi(kube::Api& api, std::string name_space, ThisNode node)
    : requests_(api, fmt::format("install whereabouts' CustomResourceDefinitions, and check that namespace {} exists",
                                 base::quoted(name_space))),
      name_space_(std::move(name_space)), node_(std::move(node)) {}

Written WhereaboutsApi::became(const WriteOutcome& outcome) {
    if (outcome.done == Written::no) last_refusal_ = outcome.trouble;
    if (outcome.done == Written::unknown) last_unknown_ = outcome.trouble;
    return outcome.done;
}

std::optional<Pool> WhereaboutsApi::find_pool(const Place& place, const base::Deadline& deadline) {
    const std::string name = pool_name(place);
    const auto object = requests_.find(path_of(Kind::pool, name), deadline);
    if (!object) return std::nullopt;
    try {
        Pool pool = parse_pool(object->content.root(), object->size, place.subnet);
        uids_[name] = pool.uid;
        return pool;
    } catch (const json::ValueError& error) {
        throw ipam::StoreError(ipam::StoreError::Kind::permanent,
                               fmt::format("lease store: IPPool {}/{}: {}", name_space_, name, error.what()));
    }
}

std::string WhereaboutsApi::known_uid(const Place& place) const {
    const auto known = uids_.find(pool_name(place));
    return known == uids_.end() ? "" : known->second;
}

Pool WhereaboutsApi::get_pool(const Place& place, const base::Deadline& deadline) {
    const std::string name = pool_name(place);
    for (int attempt = 0;; ++attempt) {
        if (auto pool = find_pool(place, deadline)) return *std::move(pool);
        if (attempt > 3)
            throw ipam::StoreError(
                ipam::StoreError::Kind::temporary,
                fmt::format("lease store: IPPool {}/{} was made and is gone each time: find out who deletes it",
                            name_space_, name));
        // Whatever became of it, the next look says.
        (void)requests_.create(path_of(Kind::pool), empty_pool_text(place), deadline);
    }
}

bool WhereaboutsApi::keeps_interfaces(const base::Deadline& deadline) {
    ipam::Owner owner;
    owner.key.ifname = "net1";
    json::Writer object;
    object.begin_object().member("apiVersion", kVersion).member("kind", "IPPool").key("metadata").begin_object();
    object.member("generateName", "rdmanet-").end_object().key("spec").begin_object().member("range", "192.0.2.0/24");
    object.key("allocations").begin_object().key("1").raw(record_text(owner)).end_object();
    object.end_object().end_object();
    const auto made = requests_.try_to_create(path_of(Kind::pool), object.to_text(), deadline);
    return made.content.root().at("spec").at("allocations").at("1").find("ifname").has_value();
}

Written WhereaboutsApi::patch_pool(const std::string& pool, Changes changes, const base::Deadline& deadline) {
    return became(requests_.patch(path_of(Kind::pool, pool), of_pool(std::move(changes)), deadline));
}

Written WhereaboutsApi::take(const Place& place, const Pool& pool, const std::string& key, const ipam::Owner& owner,
                             const base::Deadline& deadline) {
    return patch_pool(pool_name(place), unmarked(pool).test(path_to(key), "null").set(path_to(key), record_text(owner)),
                      deadline);
}

Written WhereaboutsApi::move(const Place& place, const Pool& pool, const std::string& from, const std::string& to,
                             const ipam::Owner& owner, const base::Deadline& deadline) {
    const std::string text = record_text(owner);
    return patch_pool(
        pool_name(place),
        unmarked(pool).test(path_to(from), text).test(path_to(to), "null").remove(path_to(from)).set(path_to(to), text),
        deadline);
}

Written WhereaboutsApi::give_back(const Place& place, const PoolRecord& record, const base::Deadline& deadline) {
    return give_back(pool_name(place), {&record}, deadline);
}

Written WhereaboutsApi::give_back(const std::string& pool, const std::vector<const PoolRecord*>& records,
                                  const base::Deadline& deadline) {
    Changes changes;
    for (const PoolRecord* record : records)
        changes.test(path_to(record->key), record->text).remove(path_to(record->key));
    return patch_pool(pool, std::move(changes), deadline);
}

Written WhereaboutsApi::hand_over(const Place& place, const PoolRecord& record, const ipam::Owner& heir,
                                  const base::Deadline& deadline) {
    return patch_pool(pool_name(place),
                      Changes().test(path_to(record.key), record.text).set(path_to(record.key), record_text(heir)),
                      deadline);
}

std::optional<Reservation> WhereaboutsApi::find_reservation(const std::string& name, const base::Deadline& deadline) {
    return requests_.find_parsed(path_of(Kind::reservation, name), deadline, parse_reservation);
}

std::vector<std::pair<std::string, Reservation>> WhereaboutsApi::recall_reservations(const std::string& node_label,
                                                                                     const base::Deadline& deadline) {
    using Named = std::pair<std::string, Reservation>;
    return requests_
        .list_if_served<Named>({.path = from(fmt::format("{}?labelSelector=rdmanet.cni%2Fnode%3D{}",
                                                         path_of(Kind::reservation), percent_encoded(node_label)),
                                             From::memory)},
                               deadline,
                               [](const json::Reader& object) {
                                   return std::optional(
                                       Named(object.at("metadata").at("name").string(), parse_reservation(object)));
                               })
        .value_or(std::vector<Named>());
}

std::map<std::string, std::string> WhereaboutsApi::recall_reserved(const base::Deadline& deadline) {
    using Named = std::pair<std::string, std::string>;
    const auto all = requests_.list<Named>(
        {.path = from(path_of(Kind::reservation), From::memory), .shape = kube::Shape::metadata}, deadline,
        [](const json::Reader& object) {
            const json::Reader metadata = object.at("metadata");
            const auto annotations = metadata.find("annotations");
            return std::optional(Named(metadata.at("name").string(),
                                       annotations ? text_or_empty(*annotations, kContainer) : std::string()));
        });
    return {all.begin(), all.end()};
}

Written WhereaboutsApi::reserve(const Place& place, const base::IpAddress& address, const ipam::Owner& owner,
                                const base::Deadline& deadline) {
    json::Writer object;
    object.begin_object().member("apiVersion", kVersion).member("kind", "OverlappingRangeIPReservation");
    object.key("metadata").begin_object().member("name", reservation_name(place.space, address));
    object.member("namespace", name_space_);
    if (!node_.name.empty())
        object.key("labels").begin_object().member(kMakerLabel, label_value(node_.name)).end_object();
    write_annotations(object.key("annotations"), place, address, owner, node_);
    object.end_object().key("spec");
    write_reservation_spec(object, podref_of(owner), owner.key.ifname);
    object.end_object();
    return became(requests_.create(path_of(Kind::reservation), object.to_text(), deadline));
}

Written WhereaboutsApi::reserve(const std::string& name, const std::string& podref, const std::string& ifname,
                                const base::Deadline& deadline) {
    json::Writer object;
    object.begin_object().member("apiVersion", kVersion).member("kind", "OverlappingRangeIPReservation");
    object.key("metadata").begin_object().member("name", name).member("namespace", name_space_).end_object();
    object.key("spec");
    write_reservation_spec(object, podref, ifname);
    object.end_object();
    return became(requests_.create(path_of(Kind::reservation), object.to_text(), deadline));
}

Written WhereaboutsApi::unreserve(const std::string& name, const Reservation& reservation,
                                  const base::Deadline& deadline) {
    return became(requests_.remove(path_of(Kind::reservation, name),
                                   {.uid = reservation.uid, .resource_version = reservation.version}, deadline));
}

Written WhereaboutsApi::hand_over(const std::string& name, const Reservation& reservation, const ipam::Owner& heir,
                                  const base::Deadline& deadline) {
    if (!reservation.container_id) return Written::yes; // whereabouts made it, and says only pod and interface
    Changes changes;
    changes.test("/metadata/uid", quoted_json(reservation.uid));
    changes.test(annotation_path(kContainer), quoted_json(*reservation.container_id));
    changes.set(annotation_path(kContainer), quoted_json(heir.key.container_id));
    changes.set(annotation_path(kBoot), quoted_json(heir.boot_id));
    if (!heir.pod_uid.empty()) changes.set(annotation_path(kPodUid), quoted_json(heir.pod_uid));
    changes.set(annotation_path(kMakerUid), quoted_json(node_.uid)); // not that of an earlier boot
    return became(requests_.patch(path_of(Kind::reservation, name), std::move(changes), deadline));
}

} // namespace rdmanet::cluster
