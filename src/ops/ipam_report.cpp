#include <rdmanet/ops/ipam_report.hpp>

#include <rdmanet/attach/node.hpp>
#include <rdmanet/attach/recorded_leases.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/survey.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/kube/api.hpp>
#include <rdmanet/ops/table.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <utility>

namespace rdmanet::ops {
namespace {

constexpr std::chrono::minutes kWholeCluster{5};
constexpr http::Limits kLongAnswers{.connect = std::chrono::seconds(2), .request = std::chrono::seconds(30)};

std::string printable(const std::string& text) {
    constexpr std::size_t kLongest = 320; // of a pod with its namespace: 63 and 253, and a slash
    return text.size() <= kLongest && base::is_printable_utf8(text) ? text : base::quoted(text, kLongest);
}

class IpamReader {
public:
    explicit IpamReader(const LeasePlaces& places) : places_(places) {}

    IpamReport run() && {
        if (!places_.state_directory.empty()) attempt("leases of this node", [&] { read_node(); });
        if (!places_.kubeconfig.empty()) attempt("store \"whereabouts\"", [&] { read_whereabouts(); });
        return std::move(report_);
    }

private:
    void attempt(const char* what, const std::function<void()>& read) try { read(); } catch (const base::Error& error) {
        report_.troubles.push_back(fmt::format("{}: {}", what, error.what()));
    }

    void read_node() {
        const attach::Node node(places_.state_directory, base::Logger(base::LogLevel::warning));
        const state::AttachmentStore records = node.records(state::Access::look);
        for (const ipam::Lease& lease : attach::read_leases(node, records, deadline_))
            if (places_.includes(lease.space, lease.address.address()))
                report_.leases.push_back({.store = "node",
                                          .space = lease.space,
                                          .address = lease.address.address().to_string(),
                                          .network = lease.owner.key.network,
                                          .pod = base::scoped_name(lease.owner.pod_namespace, lease.owner.pod_name),
                                          .container_id = lease.owner.key.container_id,
                                          .ifname = lease.owner.key.ifname,
                                          .node = places_.node_name});
    }

    kube::Api& api() {
        if (api_) return *api_;
        kube::Access access = kube::read_kubeconfig(places_.kubeconfig);
        for (const std::string& warning : access.warnings) log_.warn(warning);
        api_.emplace(std::move(access), kLongAnswers);
        return *api_;
    }

    void read_whereabouts() {
        cluster::Survey survey(api());
        const auto pools = survey.list_pools(deadline_);
        if (!pools) return;
        const auto reservations = survey.list_reservations(deadline_).value_or(std::vector<cluster::SeenReservation>{});
        for (const cluster::SeenPool& pool : *pools) {
            if (pool.subnet && !places_.includes(pool.space, *pool.subnet)) continue;
            report_.ranges.push_back({.store = "whereabouts",
                                      .space = pool.space,
                                      .range = pool.range,
                                      .object = fmt::format("{}/{}", survey.name_space(), pool.name),
                                      .leases = pool.records.size(),
                                      .percent = pool.percent(),
                                      .trouble = pool.trouble});
            for (const cluster::SeenRecord& record : pool.records)
                report_.leases.push_back({.store = "whereabouts",
                                          .space = pool.space,
                                          .address = record.address ? record.address->to_string() : record.key,
                                          .network = {},
                                          .pod = record.podref,
                                          .container_id = record.container_id,
                                          .ifname = record.ifname,
                                          .node = {}});
        }
    }

    const LeasePlaces& places_;
    base::Logger log_{base::LogLevel::warning};
    base::Deadline deadline_ = base::Deadline::in(kWholeCluster);
    std::optional<kube::Api> api_;
    IpamReport report_;
};

} // namespace

IpamReport read_ipam(const LeasePlaces& places) {
    return IpamReader(places).run();
}

std::string to_table(const IpamReport& report) {
    std::string text;
    if (!report.ranges.empty()) {
        Table ranges({"STORE", "SPACE", "RANGE", "LEASES", "SIZE", "OBJECT"});
        for (const SeenRange& each : report.ranges)
            ranges.add_row({each.store, printable(each.space), printable(each.range), std::to_string(each.leases),
                            each.percent ? fmt::format("{}%", *each.percent) : "", each.object});
        text += ranges.to_text() + '\n';
    }
    if (!report.leases.empty()) {
        Table leases({"ADDRESS", "STORE", "SPACE", "NETWORK", "POD", "CONTAINER", "INTERFACE", "NODE", "MARKS"});
        for (const SeenLease& each : report.leases)
            leases.add_row({printable(each.address), each.store, printable(each.space), printable(each.network),
                            printable(each.pod), printable(each.container_id.substr(0, 13)), printable(each.ifname),
                            printable(each.node), base::join(each.marks, ",")});
        text += leases.to_text();
    } else if (report.troubles.empty()) {
        text += "no leases\n";
    }
    for (const std::string& trouble : report.troubles) text += fmt::format("\ncannot read {}\n", trouble);
    return text;
}

std::string to_json(const IpamReport& report) {
    json::Writer writer(json::Layout::indented);
    writer.begin_object().key("ranges").begin_array();
    for (const SeenRange& each : report.ranges) {
        writer.begin_object().member("store", each.store).member("space", each.space).member("range", each.range);
        writer.member("object", each.object).member("leases", std::uint64_t{each.leases});
        if (each.percent) writer.member("sizePercent", *each.percent);
        writer.member("trouble", each.trouble).end_object();
    }
    writer.end_array().key("leases").begin_array();
    for (const SeenLease& each : report.leases) {
        writer.begin_object().member("address", each.address).member("store", each.store).member("space", each.space);
        writer.member("network", each.network).member("pod", each.pod).member("containerID", each.container_id);
        writer.member("ifname", each.ifname).member("node", each.node).key("marks").begin_array();
        for (const std::string& mark : each.marks) writer.value(mark);
        writer.end_array().member("trouble", each.trouble).end_object();
    }
    writer.end_array().key("troubles").begin_array();
    for (const std::string& trouble : report.troubles) writer.value(trouble);
    return fmt::format("{}\n", writer.end_array().end_object().to_text());
}

} // namespace rdmanet::ops
