#include <rdmanet/state/attachment_record.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/state/members.hpp>
#include <rdmanet/state/topic.hpp>

#include <algorithm>
#include <map>
#include <tuple>

namespace rdmanet::state {
namespace {

Phase parse_phase(const json::Reader& reader) {
    for (const Phase phase : {Phase::prepared, Phase::attached})
        if (reader.string() == to_string(phase)) return phase;
    throw reader.unexpected("\"prepared\" or \"attached\"");
}

void write_identity(json::Writer& writer, const AttachmentRecord& record) {
    writer.member("network", record.key.network)
        .member("containerID", record.key.container_id)
        .member("ifname", record.key.ifname)
        .member("role", record.key.role)
        .member("phase", to_string(record.phase))
        .member("attach", record.attach)
        .member("bootID", record.boot_id)
        .member("pidNamespace", std::to_string(record.pid_view))
        .member("created", record.created);
    if (record.removal_unfinished) writer.member("removalUnfinished", true);
    if (record.created_since_boot) writer.member("createdSinceBoot", *record.created_since_boot);
    writer.key("netns")
        .begin_object()
        .member("path", record.netns.path)
        .member("device", std::to_string(record.netns.device))
        .member("inode", std::to_string(record.netns.inode))
        .member("cookie", std::to_string(record.netns.cookie))
        .end_object();
    writer.key("pod")
        .begin_object()
        .member("namespace", record.pod.pod_namespace)
        .member("name", record.pod.name)
        .member("uid", record.pod.uid)
        .end_object();
}

void parse_identity(const json::Reader& root, AttachmentRecord& record) {
    record.key = {.network = root.at("network").string(),
                  .container_id = root.at("containerID").string(),
                  .ifname = root.at("ifname").string(),
                  .role = root.at("role").string()};
    record.phase = parse_phase(root.at("phase"));
    if (const auto unfinished = root.find("removalUnfinished")) record.removal_unfinished = unfinished->boolean();
    record.attach = root.at("attach").string();
    record.boot_id = root.at("bootID").string();
    record.pid_view = parse_number_text(root.at("pidNamespace"));
    record.created = root.at("created").integer(0, INT64_MAX);
    if (const auto since_boot = root.find("createdSinceBoot"))
        record.created_since_boot = since_boot->integer(0, INT64_MAX);
    const json::Reader netns = root.at("netns");
    record.netns = {.path = netns.at("path").string(),
                    .device = parse_number_text(netns.at("device")),
                    .inode = parse_number_text(netns.at("inode")),
                    .cookie = parse_number_text(netns.at("cookie"))};
    const json::Reader pod = root.at("pod");
    record.pod = {
        .pod_namespace = pod.at("namespace").string(), .name = pod.at("name").string(), .uid = pod.at("uid").string()};
}

void write_lease(json::Writer& writer, const RecordedLease& lease) {
    writer.begin_object()
        .member("space", lease.space)
        .member("slot", lease.slot)
        .member("address", lease.address)
        .member("cooldown", lease.cooldown)
        .end_object();
}

RecordedLease parse_lease(const json::Reader& lease) {
    return {.space = lease.at("space").string(),
            .slot = static_cast<unsigned>(lease.at("slot").integer(0, UINT32_MAX)),
            .address = lease.at("address").string(),
            .cooldown = static_cast<unsigned>(lease.at("cooldown").integer(0, UINT32_MAX))};
}

void write_lease_store(json::Writer& writer, const LeaseStore& store) {
    writer.begin_object().member("kind", store.kind).member("kubeconfig", store.kubeconfig).key("pools").begin_array();
    for (const LeasePool& pool : store.pools) {
        writer.begin_object().member("space", pool.space).member("subnet", pool.subnet);
        if (!pool.uid.empty()) writer.member("uid", pool.uid);
        writer.end_object();
    }
    writer.end_array();
    if (!store.name_space.empty()) writer.member("namespace", store.name_space);
    if (!store.node_name.empty()) writer.member("nodeName", store.node_name);
    if (store.connect_timeout) writer.member("connectTimeoutMs", *store.connect_timeout);
    if (store.request_timeout) writer.member("requestTimeoutMs", *store.request_timeout);
    if (store.unsettled_until) writer.member("unsettledUntil", *store.unsettled_until);
    if (!store.unsettled.empty()) {
        writer.key("unsettled").begin_array();
        for (const ClaimedAddress& claimed : store.unsettled)
            writer.begin_object().member("space", claimed.space).member("address", claimed.address).end_object();
        writer.end_array();
    }
    if (store.has_open_claim) writer.member("openClaim", true);
    if (store.is_released) writer.member("released", true);
    writer.end_object();
}

LeaseStore parse_lease_store(const json::Reader& store) {
    LeaseStore parsed{.kind = store.at("kind").string(), .kubeconfig = store.at("kubeconfig").string(), .pools = {}};
    for (const json::Reader& pool : store.at("pools").elements()) {
        parsed.pools.push_back({.space = pool.at("space").string(), .subnet = pool.at("subnet").string()});
        if (const auto uid = pool.find("uid")) parsed.pools.back().uid = uid->string();
    }
    if (const auto name_space = store.find("namespace")) parsed.name_space = name_space->string();
    if (const auto node_name = store.find("nodeName")) parsed.node_name = node_name->string();
    if (const auto timeout = store.find("connectTimeoutMs"))
        parsed.connect_timeout = static_cast<std::uint32_t>(timeout->integer(0, UINT32_MAX));
    if (const auto timeout = store.find("requestTimeoutMs"))
        parsed.request_timeout = static_cast<std::uint32_t>(timeout->integer(0, UINT32_MAX));
    if (const auto open = store.find("openClaim")) parsed.has_open_claim = open->boolean();
    if (const auto until = store.find("unsettledUntil")) parsed.unsettled_until = until->integer(0, INT64_MAX);
    if (const auto unsettled = store.find("unsettled"))
        for (const json::Reader& claimed : unsettled->elements())
            parsed.unsettled.push_back(
                {.space = claimed.at("space").string(), .address = claimed.at("address").string()});
    if (const auto released = store.find("released")) parsed.is_released = released->boolean();
    return parsed;
}

void write_wanted(json::Writer& writer, const Wanted& wanted) {
    writer.begin_object().member("mac", wanted.mac);
    writer.key("vf").begin_object();
    write_settings(writer, wanted.vf);
    writer.end_object();
    writer.member("gids", wanted.gids)
        .member("activePort", wanted.active_port)
        .member("mostGids", wanted.most_gids)
        .end_object();
}

Wanted parse_wanted(const json::Reader& wanted) {
    return {.mac = wanted.at("mac").string(),
            .vf = parse_settings(wanted.at("vf")),
            .gids = wanted.at("gids").boolean(),
            .active_port = wanted.at("activePort").boolean(),
            .most_gids = static_cast<std::uint32_t>(wanted.at("mostGids").integer(0, UINT32_MAX))};
}

} // namespace

std::string_view to_string(Phase phase) {
    return phase == Phase::prepared ? "prepared" : "attached";
}

const Child* AttachmentRecord::child() const {
    for (const Step& step : steps)
        if (step.holds.child) return &*step.holds.child;
    return nullptr;
}

std::string AttachmentRecord::device() const {
    for (const Step& step : steps)
        if (!step.holds.device.empty()) return step.holds.device;
    return {};
}

std::vector<base::IpPrefix> AttachmentRecord::prefixes() const {
    std::vector<base::IpPrefix> prefixes;
    for (const std::string& ip : ips)
        if (const auto prefix = base::IpPrefix::parse(ip)) prefixes.push_back(*prefix);
    return prefixes;
}

std::vector<base::IpAddress> AttachmentRecord::addresses() const {
    std::vector<base::IpAddress> addresses;
    for (const base::IpPrefix& prefix : prefixes()) addresses.push_back(prefix.address());
    return addresses;
}

std::vector<std::string> AttachmentRecord::topics() const {
    std::vector<std::string> topics;
    if (const std::string moved = device(); !moved.empty()) topics.push_back(device_topic(moved));
    for (const Step& step : steps) {
        if (const auto& child = step.holds.child; child && !child->parent_in_pod) {
            topics.push_back(parent_topic(child->parent_ifindex));
            topics.push_back(child_topic(child->parent_ifindex, child->kind, child->mode));
        }
        if (!step.holds.device_info.empty()) topics.push_back(device_info_topic(step.holds.device_info));
    }
    if (owes_addresses()) topics.emplace_back(kOwedAddressesTopic);
    return topics;
}

std::string AttachmentRecord::to_text() const {
    json::Writer writer(json::Layout::indented);
    writer.begin_object().member("version", kVersion);
    write_identity(writer, *this);
    writer.member("rdmaDevice", rdma_device);
    writer.key("leases").begin_array();
    for (const RecordedLease& lease : leases) write_lease(writer, lease);
    writer.end_array();
    if (lease_store) write_lease_store(writer.key("leaseStore"), *lease_store);
    write_texts(writer, "ips", ips);
    write_texts(writer, "routes", routes);
    if (vf_settings) {
        writer.key("vfSettings").begin_object();
        write_settings(writer, *vf_settings);
        writer.end_object();
    }
    if (wanted) write_wanted(writer.key("wanted"), *wanted);
    writer.key("steps").begin_array();
    for (const Step& step : steps) writer.raw(step.json);
    return writer.end_array().end_object().to_text();
}

AttachmentRecord AttachmentRecord::parse(std::string_view text, ReadStep read_step) {
    const json::Document document = json::Document::parse(text);
    const json::Reader root = document.root();
    (void)root.at("version").integer(kVersion, kVersion);
    AttachmentRecord record;
    parse_identity(root, record);
    record.rdma_device = root.at("rdmaDevice").string();
    for (const json::Reader& lease : root.at("leases").elements()) record.leases.push_back(parse_lease(lease));
    if (const auto store = root.find("leaseStore")) record.lease_store = parse_lease_store(*store);
    record.ips = parse_texts(root.at("ips"));
    record.routes = parse_texts(root.at("routes"));
    if (const auto settings = root.find("vfSettings")) record.vf_settings = parse_settings(*settings);
    if (const auto wanted = root.find("wanted")) record.wanted = parse_wanted(*wanted);
    for (const json::Reader& step : root.at("steps").elements()) record.steps.push_back(read_step(step));
    return record;
}

std::string describe(const AttachmentRecord& record) {
    std::string text = record.key.to_string();
    if (!record.pod.name.empty())
        text += fmt::format(", pod {}", base::quoted(base::scoped_name(record.pod.pod_namespace, record.pod.name)));
    for (const std::string& ip : record.ips) text += fmt::format(", {}", ip);
    return text;
}

void sort_youngest_first(std::vector<AttachmentRecord>& records, std::string_view present_boot) {
    std::map<std::string, std::int64_t, std::less<>> latest; // of each boot
    for (const AttachmentRecord& record : records) {
        const auto [boot, is_new] = latest.try_emplace(record.boot_id, record.created);
        if (!is_new) boot->second = std::max(boot->second, record.created);
    }
    // Sort by boot first. Comparing records of different boots in pairs would use different clocks, and the order
    // would not be transitive.
    const auto rank = [&](const AttachmentRecord& record) {
        return std::tuple(record.boot_id == present_boot, latest.at(record.boot_id), std::string_view(record.boot_id),
                          record.created_since_boot, record.created);
    };
    std::stable_sort(records.begin(), records.end(),
                     [&](const auto& one, const auto& other) { return rank(one) > rank(other); });
}

} // namespace rdmanet::state
