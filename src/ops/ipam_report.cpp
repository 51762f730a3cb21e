#include <rdmanet/ops/ipam_report.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/ops/ipam_faults.hpp>
#include <rdmanet/ops/seen_stores.hpp>
#include <rdmanet/ops/table.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace rdmanet::ops {
namespace {

class Reporter {
public:
    explicit Reporter(const IpamSurvey& survey) : survey_(survey) {
        report_.seen = survey.seen;
        for (const IpamFault& fault : find_faults(survey)) {
            const std::string wrong(to_string(fault.wrong));
            auto& marks = marks_[fault.about];
            if (std::ranges::find(marks, wrong) == marks.end()) marks.push_back(wrong);
            report_.faults.push_back(fmt::format("{}: {}: {}", wrong, fault.about, fault.text));
        }
    }

    IpamReport run() && {
        if (survey_.node) {
            for (const ipam::Lease& lease : survey_.node->own) add_lease("node", lease);
            for (const ipam::Lease& lease : survey_.node->in_blocks) add_lease("blocks", lease);
        }
        add_pools();
        for (const cluster::AddressRange& range : survey_.ranges.declared) add_range(range);
        for (const cluster::IgnoredRange& range : survey_.ranges.ignored)
            report_.ranges.push_back({.object = about(range), .marks = marks_of(about(range))});
        for (const cluster::SeenBlock& block : survey_.blocks) add_block(block);
        report_.troubles = survey_.troubles;
        report_.unknown = survey_.unknown;
        return std::move(report_);
    }

private:
    [[nodiscard]] std::vector<std::string> marks_of(const std::string& what) const {
        const auto found = marks_.find(what);
        return found == marks_.end() ? std::vector<std::string>() : found->second;
    }

    void add_lease(const char* store, const ipam::Lease& lease) {
        report_.leases.push_back({.store = store,
                                  .space = lease.space,
                                  .address = lease.address.address().to_string(),
                                  .network = lease.owner.key.network,
                                  .pod = lease.owner.pod_name.empty()
                                             ? std::string()
                                             : base::scoped_name(lease.owner.pod_namespace, lease.owner.pod_name),
                                  .container_id = lease.owner.key.container_id,
                                  .ifname = lease.owner.key.ifname,
                                  .node = survey_.node_name});
    }

    void add_pools() {
        std::map<std::pair<std::string, base::IpAddress>, const cluster::SeenReservation*> reservations;
        for (const cluster::SeenReservation& each : survey_.reservations)
            if (each.address) reservations.emplace(std::pair(each.space, *each.address), &each);
        for (const cluster::SeenPool& pool : survey_.pools) {
            report_.ranges.push_back({.store = "pools",
                                      .space = pool.space,
                                      .range = pool.range,
                                      .object = fmt::format("IPPool {}/{}", survey_.seen.name_space, pool.name),
                                      .leases = pool.records.size(),
                                      .percent = pool.percent(),
                                      .marks = marks_of(about(pool))});
            if (!pool.mark.empty()) report_.ranges.back().marks.emplace_back("draining");
            for (const cluster::SeenRecord& record : pool.records) {
                const auto found =
                    record.address ? reservations.find({pool.space, *record.address}) : reservations.end();
                const bool has_one = found != reservations.end();
                add_record(pool, record, has_one ? found->second : nullptr);
                if (has_one) reservations.erase(found);
            }
        }
        for (const auto& [place, reservation] : reservations) add_reservation(*reservation);
        for (const cluster::SeenReservation& each : survey_.reservations)
            if (!each.address) add_reservation(each);
    }

    void add_record(const cluster::SeenPool& pool, const cluster::SeenRecord& record,
                    const cluster::SeenReservation* reservation) {
        std::vector<std::string> marks = marks_of(about(pool, record));
        // Without a reservation, a record says who wrote it only if it lacks what rdmanet always writes.
        if (reservation == nullptr ? record.ifname.empty() : !reservation->is_ours) marks.emplace_back("foreign");
        if (reservation != nullptr)
            for (std::string& mark : marks_of(about(*reservation)))
                if (std::ranges::find(marks, mark) == marks.end()) marks.push_back(std::move(mark));
        report_.leases.push_back(
            {.store = "pools",
             .space = pool.space,
             .address = record.address ? record.address->to_string() : fmt::format("key {}", base::quoted(record.key)),
             .pod = record.podref,
             .container_id = record.container_id,
             .ifname = record.ifname,
             .node = reservation == nullptr ? std::string() : reservation->node,
             .marks = std::move(marks)});
    }

    /// One without a record.
    void add_reservation(const cluster::SeenReservation& reservation) {
        std::vector<std::string> marks = marks_of(about(reservation));
        if (!reservation.is_ours) marks.emplace_back("foreign");
        report_.leases.push_back({.store = "pools",
                                  .space = reservation.space,
                                  .address = reservation.address ? reservation.address->to_string() : reservation.name,
                                  .pod = reservation.podref,
                                  .container_id = reservation.container_id.value_or(""),
                                  .ifname = reservation.ifname,
                                  .node = reservation.node,
                                  .marks = std::move(marks)});
    }

    void add_range(const cluster::AddressRange& range) {
        RangeRow row{.store = "blocks",
                     .space = range.space,
                     .range = range.subnet.to_string(),
                     .object = fmt::format("AddressRange {}", range.name)};
        for (const cluster::SeenBlock& block : survey_.blocks) {
            if (!block.trouble.empty() || block.range_uid != range.uid) continue;
            ++row.leases;
            if (block.in_use == 0) ++row.empty_blocks;
        }
        if (range.is_going) row.marks.emplace_back("deleted");
        report_.ranges.push_back(std::move(row));
    }

    void add_block(const cluster::SeenBlock& block) {
        std::vector<std::string> marks = marks_of(about(block));
        if (block.is_node_gone) marks.emplace_back("node-gone");
        if (block.is_going) marks.emplace_back("deleted");
        report_.blocks.push_back({.object = block.name,
                                  .space = block.space,
                                  .block = block.block ? block.block->to_string() : std::string(),
                                  .range = block.range ? block.range->to_string() : std::string(),
                                  .node = block.node,
                                  .in_use = block.in_use,
                                  .in_use_at = block.in_use_at,
                                  .marks = std::move(marks)});
    }

    const IpamSurvey& survey_;
    std::map<std::string, std::vector<std::string>> marks_; // by what they are about
    IpamReport report_;
};

std::string ranges_table(const IpamReport& report) {
    Table table({"STORE", "SPACE", "RANGE", "HAS", "SIZE", "OBJECT", "MARKS"});
    for (const RangeRow& each : report.ranges)
        table.add_row(
            {printable(each.store), printable(each.space), printable(each.range),
             each.percent ? base::counted(each.leases, "lease", "leases")
             : each.store == "blocks"
                 ? fmt::format("{}, {} empty", base::counted(each.leases, "block", "blocks"), each.empty_blocks)
                 : std::string(),
             each.percent ? fmt::format("{}%", *each.percent) : "", each.object, base::join(each.marks, ",")});
    return table.to_text();
}

std::string blocks_table(const IpamReport& report) {
    Table table({"BLOCK", "SPACE", "RANGE", "NODE", "IN USE", "WRITTEN", "MARKS"});
    for (const BlockRow& each : report.blocks)
        table.add_row({each.block.empty() ? printable(each.object) : each.block, printable(each.space), each.range,
                       printable(each.node), std::to_string(each.in_use), printable(each.in_use_at),
                       base::join(each.marks, ",")});
    return table.to_text();
}

std::string leases_table(const IpamReport& report) {
    Table table({"ADDRESS", "STORE", "SPACE", "NETWORK", "POD", "CONTAINER", "INTERFACE", "NODE", "MARKS"});
    for (const LeaseRow& each : report.leases)
        table.add_row({printable(each.address), each.store, printable(each.space), printable(each.network),
                       printable(each.pod), printable(each.container_id.substr(0, 13)), printable(each.ifname),
                       printable(each.node), base::join(each.marks, ",")});
    return table.to_text();
}

} // namespace

IpamReport report_ipam(const IpamSurvey& survey, const std::string& node) {
    IpamReport report = Reporter(survey).run();
    if (node.empty()) return report;
    std::erase_if(report.blocks, [&](const BlockRow& each) { return each.node != node; });
    std::erase_if(report.leases, [&](const LeaseRow& each) { return each.node != node; });
    return report;
}

std::string to_table(const IpamReport& report) {
    std::vector<std::string> parts;
    if (!report.ranges.empty()) parts.push_back(ranges_table(report));
    if (!report.blocks.empty()) parts.push_back(blocks_table(report));
    if (!report.leases.empty()) parts.push_back(leases_table(report));
    if (report.leases.empty() && report.troubles.empty()) parts.emplace_back(to_text(report.seen) + "no leases\n");
    std::string text = base::join(parts, "\n");
    const bool has_remarks = !(report.faults.empty() && report.troubles.empty() && report.unknown.empty());
    if (!text.empty() && has_remarks) text += '\n';
    for (const std::string& fault : report.faults) text += fmt::format("{}\n", fault);
    for (const std::string& what : report.unknown) text += fmt::format("not known: {}\n", what);
    for (const std::string& trouble : report.troubles) text += fmt::format("cannot read {}\n", trouble);
    return text;
}

std::string to_json(const IpamReport& report) {
    json::Writer writer(json::Layout::indented);
    writer.begin_object().key("ranges").begin_array();
    for (const RangeRow& each : report.ranges) {
        writer.begin_object().member("store", each.store).member("space", each.space).member("range", each.range);
        writer.member("object", each.object);
        if (each.percent || each.store == "blocks")
            writer.member(each.percent ? "leases" : "blocks", std::uint64_t{each.leases});
        if (each.store == "blocks") writer.member("emptyBlocks", std::uint64_t{each.empty_blocks});
        if (each.percent) writer.member("sizePercent", *each.percent);
        writer.member("marks", each.marks);
        writer.end_object();
    }
    writer.end_array().key("blocks").begin_array();
    for (const BlockRow& each : report.blocks) {
        writer.begin_object().member("name", each.object).member("space", each.space).member("block", each.block);
        writer.member("range", each.range).member("node", each.node).member("inUse", each.in_use);
        writer.member("inUseAt", each.in_use_at);
        writer.member("marks", each.marks);
        writer.end_object();
    }
    writer.end_array().key("leases").begin_array();
    for (const LeaseRow& each : report.leases) {
        writer.begin_object().member("address", each.address).member("store", each.store).member("space", each.space);
        writer.member("network", each.network).member("pod", each.pod).member("containerID", each.container_id);
        writer.member("ifname", each.ifname).member("node", each.node);
        writer.member("marks", each.marks);
        writer.end_object();
    }
    writer.end_array();
    write(writer, report.seen);
    writer.member("faults", report.faults);
    writer.member("troubles", report.troubles);
    writer.member("unknown", report.unknown);
    return fmt::format("{}\n", writer.end_object().to_text());
}

} // namespace rdmanet::ops
