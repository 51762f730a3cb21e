#include <rdmanet/ops/state_report.hpp>

#include <rdmanet/attach/pod_view.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/leases/leases.hpp>
#include <rdmanet/ops/table.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <map>

namespace rdmanet::ops {
namespace {

using attach::RdmaPlace;
using attach::RdmaView;
using kernel::GidEntry;
using state::AttachmentRecord;

constexpr std::chrono::seconds kPatience{10};
constexpr std::size_t kShortId = 13; // the runtimes' own tools show 12 to 13 characters of a container ID

std::string utc(std::int64_t seconds) {
    const auto time = static_cast<std::time_t>(seconds);
    std::tm parts{};
    (void)::gmtime_r(&time, &parts);
    char text[32];
    return {text, ::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string pod_of(const std::string& pod_namespace, const std::string& name) {
    return name.empty() ? std::string() : printable(base::scoped_name(pod_namespace, name));
}

std::string_view to_string(RdmaPlace place) {
    switch (place) {
    case RdmaPlace::unknown: break;
    case RdmaPlace::host: return "host";
    case RdmaPlace::pod: return "pod";
    }
    return "";
}

std::string_view to_string(ipam::Liveness pod) {
    switch (pod) {
    case ipam::Liveness::unknown: break;
    case ipam::Liveness::alive: return "alive";
    case ipam::Liveness::dead: return "dead";
    }
    return "unknown";
}

/// The attachment's phase, or that its pod is dead.
std::string phase_of(const AttachmentRecord& record, const ipam::Verdict& pod) {
    if (record.removal_unfinished) return "DEL unfinished";
    return pod == ipam::Liveness::dead ? "pod dead" : std::string(state::to_string(record.phase));
}

/// For an unknown pod why it is unknown; for a pod whose namespace lost its name, who holds the namespace.
const std::string& reason_of(const ipam::Verdict& pod) {
    return pod.held_by.empty() ? pod.reason : pod.held_by;
}

/// sysfs has one name for two types: "IB/RoCE v1".
std::string_view type_of(const RdmaView& view, const GidEntry& entry) {
    if (view.infiniband) return "InfiniBand";
    return entry.type == kernel::GidType::ib_or_roce_v1 ? "RoCE v1" : kernel::to_string(entry.type);
}

void write_rdma(json::Writer& writer, const RdmaView& view) {
    writer.begin_object()
        .member("device", view.device)
        .member("port", view.port)
        .member("where", to_string(view.place))
        .member("trouble", view.trouble);
    writer.member("files", view.files);
    writer.key("gids").begin_array();
    for (const GidEntry& entry : view.gids)
        writer.begin_object()
            .member("index", entry.index)
            .member("type", type_of(view, entry))
            .member("address", entry.address.to_string())
            .member("netdev", entry.netdev)
            .end_object();
    writer.end_array().end_object();
}

void write_attachment(json::Writer& writer, const StateReport& report, std::size_t number) {
    const AttachmentRecord& record = report.attachments.records[number];
    const state::Child* child = record.child();
    writer.begin_object()
        .member("network", record.key.network)
        .member("containerID", record.key.container_id)
        .member("ifname", record.key.ifname)
        .member("phase", state::to_string(record.phase))
        .member("delUnfinished", record.removal_unfinished)
        .member("attach", record.attach)
        .member("parent", child == nullptr ? "" : child->parent)
        .member("device", record.device())
        .member("mac", child == nullptr ? "" : child->mac)
        .member("rdmaDevice", record.rdma_device)
        .member("netns", record.netns.path)
        .member("podNamespace", record.pod.pod_namespace)
        .member("podName", record.pod.name)
        .member("podUID", record.pod.uid)
        .member("podState", to_string(report.pods[number].liveness))
        .member("podStateReason", reason_of(report.pods[number]))
        .member("created", utc(record.created));
    writer.member("ips", record.ips);
    writer.key("duplicates").begin_array();
    for (const base::IpPrefix& ip : report.duplicates[number]) writer.value(ip.to_string());
    writer.end_array().key("rdma").begin_array();
    for (const RdmaView& view : report.rdma[number]) write_rdma(writer, view);
    writer.end_array().end_object();
}

void write_lease(json::Writer& writer, const ipam::Lease& lease) {
    writer.begin_object()
        .member("address", lease.address.to_string())
        .member("space", lease.space)
        .member("network", lease.owner.key.network)
        .member("containerID", lease.owner.key.container_id)
        .member("ifname", lease.owner.key.ifname)
        .member("podNamespace", lease.owner.pod_namespace)
        .member("podName", lease.owner.pod_name)
        .member("podUID", lease.owner.pod_uid)
        .member("since", utc(lease.since))
        .end_object();
}

std::string device_and_port(const RdmaView& view) {
    return view.port == 0 ? view.device : fmt::format("{}/{}", view.device, view.port);
}

/// For each address "2 (RoCE v1), 3 (RoCE v2)".
std::map<base::IpAddress, std::string> indexes_of(const RdmaView& view) {
    std::map<base::IpAddress, std::string> indexes;
    for (const GidEntry& entry : view.gids) {
        std::string& text = indexes[entry.address];
        if (!text.empty()) text += ", ";
        text += fmt::format("{} ({})", entry.index, type_of(view, entry));
    }
    return indexes;
}

/// A line for each address with its indexes in the GID table, which NCCL_IB_GID_INDEX and perftest's -x expect.
void add_rows(Table& table, const AttachmentRecord& record, const RdmaView& view) {
    auto indexes = indexes_of(view);
    if (!view.infiniband) // there the address of the pod is no GID
        for (const base::IpAddress& address : record.addresses()) indexes.try_emplace(address);
    const auto add_row = [&](const std::string& address, const std::string& text) {
        table.add_row({device_and_port(view), std::string(to_string(view.place)), base::join(view.files, ","),
                       pod_of(record.pod.pod_namespace, record.pod.name), record.key.container_id.substr(0, kShortId),
                       record.key.ifname, address, text});
    };
    for (const auto& [address, text] : indexes) add_row(address.to_string(), text);
    if (indexes.empty()) add_row("", "");
}

/// The recorded device. An IPoIB child has its parent's device, which no record names.
std::string rdma_of(const AttachmentRecord& record, const std::vector<RdmaView>& views) {
    if (!record.rdma_device.empty()) return record.rdma_device;
    return base::join(views, ",", device_and_port);
}

/// Empty if no attachment has an RDMA device.
std::string rdma_table(const StateReport& report) {
    Table table({"RDMA", "WHERE", "FILES", "POD", "CONTAINER", "INTERFACE", "ADDRESS", "GID INDEX"});
    bool any = false;
    for (std::size_t number = 0; number < report.rdma.size(); ++number)
        for (const RdmaView& view : report.rdma[number]) {
            add_rows(table, report.attachments.records[number], view);
            any = true;
        }
    return any ? fmt::format("\n{}", table.to_text()) : std::string();
}

/// A line for each address that another host also has. The kernel does not use such an address, but its GID stays
/// usable. Traffic for both hosts then arrives at the one that the neighbours know.
std::string duplicates_text(const StateReport& report) {
    std::string text;
    for (std::size_t number = 0; number < report.duplicates.size(); ++number)
        for (const base::IpPrefix& ip : report.duplicates[number]) {
            text += fmt::format("\naddress {} of {} is a duplicate: another host in the network has it, so the pod "
                                "cannot use it. Delete the pod, and exclude the address from the range\n",
                                ip, report.attachments.records[number].key);
            for (const RdmaView& view : report.rdma[number])
                if (const auto indexes = indexes_of(view); indexes.contains(ip.address()))
                    text += fmt::format("  its GID, index {} of {}, still works, but must not be used\n",
                                        indexes.at(ip.address()), device_and_port(view));
        }
    return text;
}

} // namespace

StateReport read_state(const std::string& state_directory) {
    StateReport report;
    if (::access(state_directory.c_str(), F_OK) != 0 && errno == ENOENT) report.missing_directory = state_directory;
    const attach::Node node(state_directory, base::Logger(base::LogLevel::error));
    const state::AttachmentStore records = node.records(state::Access::look);
    report.attachments = records.list();
    report.rdma = attach::view_rdma(report.attachments.records);
    report.duplicates = attach::view_duplicates(report.attachments.records);
    report.pods = attach::view_pods(report.attachments.records, node);
    try {
        report.leases = leases::Leases(node, records).look(base::Deadline::in(kPatience)).all();
    } catch (const base::Error& error) {
        report.lease_trouble = error.what();
    }
    return report;
}

std::string to_table(const StateReport& report) {
    Table attachments(
        {"ATTACHMENT", "KIND", "PARENT", "RDMA", "NETWORK", "POD", "CONTAINER", "PHASE", "ADDRESSES", "SINCE"});
    for (std::size_t number = 0; number < report.attachments.records.size(); ++number) {
        const AttachmentRecord& record = report.attachments.records[number];
        const state::Child* child = record.child();
        attachments.add_row({record.key.ifname, record.attach, child == nullptr ? record.device() : child->parent,
                             rdma_of(record, report.rdma[number]), record.key.network,
                             pod_of(record.pod.pod_namespace, record.pod.name),
                             record.key.container_id.substr(0, kShortId), phase_of(record, report.pods[number]),
                             base::join(record.ips, ","), utc(record.created)});
    }
    Table leases({"ADDRESS", "SPACE", "NETWORK", "POD", "CONTAINER", "INTERFACE", "SINCE"});
    for (const ipam::Lease& lease : report.leases)
        leases.add_row({lease.address.to_string(), lease.space, lease.owner.key.network,
                        pod_of(lease.owner.pod_namespace, lease.owner.pod_name),
                        lease.owner.key.container_id.substr(0, kShortId), lease.owner.key.ifname, utc(lease.since)});
    const std::string& missing = report.missing_directory;
    std::string text = fmt::format("{}{}\n{}", attachments.to_text(), rdma_table(report), leases.to_text());
    if (report.attachments.records.empty() && report.leases.empty())
        text = missing.empty() ? "nothing attached\n" : fmt::format("nothing attached ({} does not exist)\n", missing);
    for (std::size_t number = 0; number < report.rdma.size(); ++number)
        for (const RdmaView& view : report.rdma[number])
            if (!view.trouble.empty())
                text +=
                    fmt::format("\nRDMA of {} as recorded: {}\n", report.attachments.records[number].key, view.trouble);
    text += duplicates_text(report);
    if (const auto dead = std::count(report.pods.begin(), report.pods.end(), ipam::Liveness::dead); dead != 0)
        text += fmt::format(
            "\n{}: run `rdmanet gc`\n",
            base::counted(static_cast<std::size_t>(dead), "attachment of a dead pod", "attachments of dead pods"));
    for (std::size_t number = 0; number < report.pods.size(); ++number)
        if (const std::string& held_by = report.pods[number].held_by; !held_by.empty())
            text += fmt::format("\nthe network namespace of {} no longer has a name, and is {}\n",
                                report.attachments.records[number].key, held_by);
    for (std::size_t number = 0; number < report.pods.size(); ++number)
        if (report.pods[number] == ipam::Liveness::unknown)
            text += fmt::format("\nrdmanet cannot tell whether the pod of {} is alive, and removes nothing: {}\n",
                                report.attachments.records[number].key, report.pods[number].reason);
    for (const state::Unreadable& file : report.attachments.unreadable)
        text += fmt::format("\nunreadable record {}: {}: see `rdmanet gc`\n", file.path, file.reason);
    if (!report.lease_trouble.empty()) text += fmt::format("\ncannot read the leases: {}\n", report.lease_trouble);
    return text;
}

std::string to_json(const StateReport& report) {
    json::Writer writer(json::Layout::indented);
    writer.begin_object().key("attachments").begin_array();
    for (std::size_t number = 0; number < report.attachments.records.size(); ++number)
        write_attachment(writer, report, number);
    writer.end_array().key("leases").begin_array();
    for (const ipam::Lease& lease : report.leases) write_lease(writer, lease);
    writer.end_array().key("unreadable").begin_array();
    for (const state::Unreadable& file : report.attachments.unreadable)
        writer.begin_object().member("path", file.path).member("reason", file.reason).end_object();
    if (!report.lease_trouble.empty())
        writer.begin_object().member("path", "leases of this node").member("reason", report.lease_trouble).end_object();
    return fmt::format("{}\n", writer.end_array().end_object().to_text());
}

} // namespace rdmanet::ops
