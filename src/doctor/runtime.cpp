// rdmanet's own records.
#include "checks.hpp"

#include <rdmanet/attach/check_node.hpp>
#include <rdmanet/attach/lease_holders.hpp>
#include <rdmanet/attach/pod_view.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>
#include <vector>

namespace rdmanet::doctor {
namespace {

void check_records(const Context& context, Findings& found) {
    auto listing = context.node.records().list();
    for (const state::Unreadable& file : listing.unreadable)
        found.failure(file.path, fmt::format("the record cannot be read: {}", file.reason),
                      "`rdmanet gc`, which says what to do");
    const auto pods = attach::view_pods(listing.records, context.node);
    std::size_t dead = 0;
    std::string example;
    for (std::size_t number = 0; number < pods.size(); ++number)
        if (pods[number] == ipam::Liveness::dead && dead++ == 0)
            example = fmt::format("{}", listing.records[number].key);
    if (dead != 0)
        found.warning("",
                      fmt::format("{} still recorded, although the pods are dead (the first: {})",
                                  base::counted(dead, "attachment is", "attachments are"), example),
                      "`rdmanet gc`, and run it regularly");
}

void check_attachments(const Context& context, Findings& found) {
    for (const attach::CheckedAttachment& each : attach::check_node(context.node)) {
        if (each.agreement == attach::Agreement::differs)
            found.failure(each.name, each.reason, "`rdmanet check` shows all differences");
        if (!each.warning.empty()) found.warning(each.name, each.warning, "");
    }
}

std::vector<attach::LeaseHolder> list_unrecorded(const Context& context) {
    constexpr std::chrono::seconds kPatience{1};
    auto holders = attach::view_lease_holders(context.node, context.node.records(), base::Deadline::in(kPatience));
    std::erase_if(holders, [](const attach::LeaseHolder& holder) { return holder.has_record; });
    return holders;
}

bool is_same(const attach::LeaseHolder& one, const attach::LeaseHolder& other) {
    return one.container_id == other.container_id && one.ifname == other.ifname;
}

/// A record leads to each lease. Without it, DEL and CHECK do not know the attachment.
void check_leases(const Context& context, Findings& found) {
    const auto seen = list_unrecorded(context);
    if (seen.empty()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(500)); // an ADD writes the record after it has its leases
    std::size_t count = 0;
    std::string example;
    bool any_lives = false;
    for (const attach::LeaseHolder& holder : list_unrecorded(context)) {
        if (std::ranges::none_of(seen, [&](const auto& each) { return is_same(each, holder); })) continue;
        if (count++ == 0) example = holder.what;
        any_lives = any_lives || holder.pod.liveness != ipam::Liveness::dead;
    }
    if (count == 0) return;
    const std::string_view lost =
        "`rdmanet ipam check` shows all of them; to mend a pod, delete it and create it again";
    found.warning("",
                  fmt::format("{} addresses and no record (the first: {})",
                              base::counted(count, "attachment has", "attachments have"), example),
                  any_lives ? std::string(lost) : "`rdmanet gc` gives the addresses of dead pods back");
}

constexpr Check kRuntimeChecks[] = {
    {{"records", Layer::runtime, "records of dead pods, and records that cannot be read"}, check_records},
    {{"leases", Layer::runtime, "leases that no record leads to"}, check_leases},
    {{"attachments", Layer::runtime, "each attachment as ADD left it"}, check_attachments},
};

} // namespace

std::span<const Check> runtime_checks() {
    return kRuntimeChecks;
}

} // namespace rdmanet::doctor
