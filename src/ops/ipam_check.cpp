#include <rdmanet/ops/ipam_check.hpp>

#include <rdmanet/attach/check_node.hpp>
#include <rdmanet/attach/regain.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/ops/seen_stores.hpp>

#include <algorithm>
#include <thread>
#include <utility>

namespace rdmanet::ops {
namespace {

/// A look at the pod itself, whose state the lists do not have.
bool is_cleared_by_pod(const IpamFault& fault, IpamClients& clients) try {
    if (fault.pod.empty()) return false;
    const auto pod = cluster::Survey(clients.kube()).find_pod(fault.pod, survey_deadline());
    if (fault.wrong == Wrong::stale) return pod.has_value();
    return !pod || pod->is_going || !pod->is_running; // it may be without its addresses by now
} catch (const base::Error&) {                        // whoever may list pods and not read one
    return false;
}

std::size_t count_leases(const IpamSurvey& survey) {
    std::size_t count = 0;
    for (const cluster::SeenPool& pool : survey.pools) count += pool.records.size();
    if (survey.node) count += survey.node->own.size() + survey.node->in_blocks.size();
    return count;
}

/// The attachments of this node: journal, kernel and store against each other, as `rdmanet check` does.
void check_attachments(const LeasePlaces& places, IpamCheck& check) {
    const attach::Node node(places.state_directory, base::Logger(base::LogLevel::warning));
    for (const attach::CheckedAttachment& each : attach::check_node(node))
        if (each.agreement == attach::Agreement::differs)
            check.faults.push_back({.wrong = Wrong::differs, .about = each.name, .text = each.reason});
        else if (each.agreement == attach::Agreement::not_checked)
            check.unknown.push_back(fmt::format("{}: {}", each.name, each.reason));
}

std::size_t count(const IpamCheck& check, Wrong wrong) {
    return static_cast<std::size_t>(std::ranges::count(check.faults, wrong, &IpamFault::wrong));
}

} // namespace

IpamRepair repair_ipam(const LeasePlaces& places) {
    if (places.state_directory.empty())
        throw base::Error("what living pods lack is made again on their node: run `rdmanet ipam check --repair` there, "
                          "as root");
    const attach::Node node(places.state_directory, base::Logger(base::LogLevel::warning));
    IpamRepair repair;
    const auto is_meant = [&](const ipam::Lease& lease) {
        return places.includes(lease.space, lease.address.address());
    };
    for (const attach::RegainedLease& each : attach::regain_leases(node, is_meant)) {
        if (!each.made.empty()) repair.made.push_back(fmt::format("{}: {}", each.what, base::join(each.made)));
        if (!each.refused.empty()) repair.refused.push_back(fmt::format("{}: {}", each.what, each.refused));
    }
    return repair;
}

IpamCheck check_ipam(const LeasePlaces& places, IpamClients& clients, std::chrono::seconds pause) {
    IpamSurvey survey = survey_ipam(places, clients);
    std::vector<IpamFault> faults = find_faults(survey);
    if (!faults.empty()) {
        std::this_thread::sleep_for(pause);
        survey = survey_ipam(places, clients);
        const std::vector<IpamFault> first = std::exchange(faults, find_faults(survey));
        std::erase_if(faults, [&](const IpamFault& fault) {
            return std::ranges::find(first, fault) == first.end() || is_cleared_by_pod(fault, clients);
        });
    }
    IpamCheck check{.seen = survey.seen,
                    .faults = std::move(faults),
                    .leases = count_leases(survey),
                    .blocks = survey.blocks.size(),
                    .troubles = std::move(survey.troubles),
                    .unknown = std::move(survey.unknown)};
    if (!places.state_directory.empty()) check_attachments(places, check);
    return check;
}

std::string to_text(const IpamCheck& check) {
    std::string text;
    for (const std::string& made : check.repair.made) text += fmt::format("made again: {}\n", made);
    for (const std::string& refused : check.repair.refused) text += fmt::format("not repaired: {}\n", refused);
    for (const IpamFault& fault : check.faults)
        text += fmt::format("{}: {}: {}\n", to_string(fault.wrong), fault.about, fault.text);
    for (const std::string& what : check.unknown) text += fmt::format("not known: {}\n", what);
    for (const std::string& trouble : check.troubles) text += fmt::format("cannot read {}\n", trouble);
    text += to_text(check.seen);
    return text + fmt::format("{}, {}: {} missing, {} double, {} stale, {} unreadable, {} ignored, {} too large, "
                              "{} different\n",
                              base::counted(check.leases, "lease", "leases"),
                              base::counted(check.blocks, "block", "blocks"), count(check, Wrong::missing),
                              count(check, Wrong::twice), count(check, Wrong::stale), count(check, Wrong::unreadable),
                              count(check, Wrong::ignored), count(check, Wrong::size), count(check, Wrong::differs));
}

std::string to_json(const IpamCheck& check) {
    json::Writer writer(json::Layout::indented);
    writer.begin_object().key("faults").begin_array();
    for (const IpamFault& fault : check.faults)
        writer.begin_object()
            .member("kind", to_string(fault.wrong))
            .member("about", fault.about)
            .member("text", fault.text)
            .end_object();
    writer.end_array();
    writer.member("leases", std::uint64_t{check.leases}).member("blocks", std::uint64_t{check.blocks});
    write(writer, check.seen);
    writer.member("repaired", check.repair.made);
    writer.member("notRepaired", check.repair.refused);
    writer.member("unknown", check.unknown);
    writer.member("troubles", check.troubles);
    return fmt::format("{}\n", writer.end_object().to_text());
}

} // namespace rdmanet::ops
