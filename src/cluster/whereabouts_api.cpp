#include "whereabouts_api.hpp"

#include "blocks/objects.hpp"
#include "conditional.hpp"
#include "listing.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/json/writer.hpp>

#include <algorithm>

namespace rdmanet::cluster {
namespace {

using kube::Refusal;

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
std::string of_pool(Changes& changes) {
    return changes.set("/metadata/managedFields", "[{}]").to_text();
}

std::string path_to(std::string_view key) {
    return fmt::format("/spec/allocations/{}", key);
}

std::string quoted_text(std::string_view text) {
    return json::Writer().value(text).to_text();
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

} // namespace

Reservation parse_reservation(const json::Reader& object) {
    const json::Reader metadata = object.at("metadata");
    const json::Reader spec = object.at("spec");
    Reservation reservation{.uid = metadata.at("uid").string(),
                            .version = metadata.at("resourceVersion").string(),
                            .podref = text_or_empty(spec, "podref"),
                            .ifname = text_or_empty(spec, "ifname"),
                            .container_id = std::nullopt};
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

void WhereaboutsApi::refuse(const kube::Refused& refused) const {
    using ipam::StoreError;
    std::string fix;
    if (refused.why == Refusal::not_found)
        fix = fmt::format(": install whereabouts' CustomResourceDefinitions, and check that namespace {} exists",
                          base::quoted(name_space_));
    if (refused.why == Refusal::forbidden)
        fix = fmt::format(": grant that right to the user of the kubeconfig{}{}",
                          api_.access().user.empty() ? "" : ", ", api_.access().user);
    if (refused.why == Refusal::unauthorized) fix = ": renew the token or certificate in the kubeconfig";
    if (refused.why == Refusal::too_large) fix = ": the pool is full; use several smaller ranges, or store \"blocks\"";
    throw StoreError(refused.is_temporary() ? StoreError::Kind::temporary : StoreError::Kind::permanent,
                     fmt::format("lease store: {}{}", refused.message, fix));
}

std::optional<kube::Object> WhereaboutsApi::find(Kind kind, const std::string& name, const base::Deadline& deadline) {
    try {
        kube::Outcome outcome = api_.get(path_of(kind, name), deadline);
        if (auto* object = std::get_if<kube::Object>(&outcome)) return std::move(*object);
        const auto& refused = std::get<kube::Refused>(outcome);
        if (refused.why == Refusal::not_found) return std::nullopt;
        refuse(refused);
    } catch (const http::TransportError& error) {
        throw ipam::StoreError(ipam::StoreError::Kind::unreachable, fmt::format("lease store: {}", error.what()));
    }
}

template <class Ask>
Written WhereaboutsApi::write(Ask ask, std::initializer_list<Refusal> means_no) {
    try {
        const kube::Outcome outcome = ask();
        const auto* refused = std::get_if<kube::Refused>(&outcome);
        if (refused == nullptr) return Written::yes;
        last_refusal_ = refused->message;
        if (std::find(means_no.begin(), means_no.end(), refused->why) != means_no.end()) return Written::no;
        if (refused->may_have_been_done) {
            last_unknown_ = refused->message;
            return Written::unknown;
        }
        refuse(*refused);
    } catch (const http::TransportError& error) {
        if (error.may_have_been_done()) {
            last_unknown_ = error.what();
            return Written::unknown;
        }
        throw ipam::StoreError(ipam::StoreError::Kind::unreachable, fmt::format("lease store: {}", error.what()));
    }
}

std::optional<Pool> WhereaboutsApi::find_pool(const Place& place, const base::Deadline& deadline) {
    const std::string name = pool_name(place);
    const auto object = find(Kind::pool, name, deadline);
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
        (void)write([&] { return api_.create(path_of(Kind::pool), empty_pool_text(place, {}), deadline); },
                    {Refusal::already_exists}); // whatever became of it, the next look says
    }
}

Written WhereaboutsApi::patch_pool(const std::string& pool, std::string operations, const base::Deadline& deadline) {
    return write([&] { return api_.patch(path_of(Kind::pool, pool), std::move(operations), deadline); },
                 {Refusal::invalid, Refusal::not_found, Refusal::conflict});
}

Written WhereaboutsApi::take(const Place& place, const Pool& pool, const std::string& key, const ipam::Owner& owner,
                             const base::Deadline& deadline) {
    // A member that is absent is null for a test, but what should have the member must be there (evanphx/json-patch,
    // which the server uses).
    return patch_pool(
        pool_name(place),
        of_pool(Changes()
                    .test("/metadata/uid", quoted_text(pool.uid))
                    .test(pool.has_annotations ? annotation_path(kStoreOfPool) : "/metadata/annotations", "null")
                    .test(path_to(key), "null")
                    .set(path_to(key), record_text(owner))),
        deadline);
}

Written WhereaboutsApi::give_back(const Place& place, const PoolRecord& record, const base::Deadline& deadline) {
    return give_back(pool_name(place), record.key, record.text, deadline);
}

Written WhereaboutsApi::give_back(const std::string& pool, const std::string& key, const std::string& text,
                                  const base::Deadline& deadline) {
    return patch_pool(pool, of_pool(Changes().test(path_to(key), text).remove(path_to(key))), deadline);
}

Written WhereaboutsApi::hand_over(const Place& place, const PoolRecord& record, const ipam::Owner& heir,
                                  const base::Deadline& deadline) {
    return patch_pool(
        pool_name(place),
        of_pool(Changes().test(path_to(record.key), record.text).set(path_to(record.key), record_text(heir))),
        deadline);
}

std::optional<Reservation> WhereaboutsApi::find_reservation(const std::string& name, const base::Deadline& deadline) {
    const auto object = find(Kind::reservation, name, deadline);
    if (!object) return std::nullopt;
    try {
        return parse_reservation(object->content.root());
    } catch (const json::ValueError& error) {
        throw ipam::StoreError(
            ipam::StoreError::Kind::permanent,
            fmt::format("lease store: OverlappingRangeIPReservation {}/{}: {}", name_space_, name, error.what()));
    }
}

std::vector<std::pair<std::string, Reservation>> WhereaboutsApi::list_reservations(const std::string& node_label,
                                                                                   const base::Deadline& deadline) {
    auto listed = list_parsed(
        api_, {.path = fmt::format("{}?labelSelector=rdmanet.cni%2Fnode%3D{}", path_of(Kind::reservation), node_label)},
        deadline, [](const json::Reader& object) {
            return std::pair(object.at("metadata").at("name").string(), parse_reservation(object));
        });
    return listed ? *std::move(listed) : std::vector<std::pair<std::string, Reservation>>{};
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
    return write([&] { return api_.create(path_of(Kind::reservation), object.to_text(), deadline); },
                 {Refusal::already_exists});
}

Written WhereaboutsApi::reserve(const std::string& name, const std::string& podref, const std::string& ifname,
                                const base::Deadline& deadline) {
    json::Writer object;
    object.begin_object().member("apiVersion", kVersion).member("kind", "OverlappingRangeIPReservation");
    object.key("metadata").begin_object().member("name", name).member("namespace", name_space_).end_object();
    object.key("spec");
    write_reservation_spec(object, podref, ifname);
    object.end_object();
    return write([&] { return api_.create(path_of(Kind::reservation), object.to_text(), deadline); },
                 {Refusal::already_exists});
}

Written WhereaboutsApi::unreserve(const std::string& name, const Reservation& reservation,
                                  const base::Deadline& deadline) {
    return write(
        [&] {
            return api_.remove(path_of(Kind::reservation, name),
                               {.uid = reservation.uid, .resource_version = reservation.version}, deadline);
        },
        {Refusal::not_found, Refusal::conflict});
}

Written WhereaboutsApi::hand_over(const std::string& name, const Reservation& reservation, const ipam::Owner& heir,
                                  const base::Deadline& deadline) {
    if (!reservation.container_id) return Written::yes; // whereabouts made it, and says only pod and interface
    Changes changes;
    changes.test("/metadata/uid", quoted_text(reservation.uid));
    changes.test(annotation_path(kContainer), quoted_text(*reservation.container_id));
    changes.set(annotation_path(kContainer), quoted_text(heir.key.container_id));
    changes.set(annotation_path(kBoot), quoted_text(heir.boot_id));
    if (!heir.pod_uid.empty()) changes.set(annotation_path(kPodUid), quoted_text(heir.pod_uid));
    if (!node_.uid.empty()) changes.set(annotation_path(kMakerUid), quoted_text(node_.uid));
    return write([&] { return api_.patch(path_of(Kind::reservation, name), changes.to_text(), deadline); },
                 {Refusal::invalid, Refusal::not_found, Refusal::conflict});
}

} // namespace rdmanet::cluster
