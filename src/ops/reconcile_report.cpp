#include <rdmanet/ops/reconcile_report.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/ops/seen_stores.hpp>
#include <rdmanet/ops/table.hpp>

#include <vector>

namespace rdmanet::ops {
namespace {

using cluster::Left;
using Act = cluster::ReconcileOptions::Act;

/// "10.0.0.5 of pod shop/till, net1 (IPPool 10.0.0.0-24)"
std::string describe(const Left& left) {
    std::string text = printable(left.address);
    if (!left.pod.empty()) text += fmt::format(" of pod {}", printable(left.pod));
    if (!left.ifname.empty()) text += fmt::format(", {}", printable(left.ifname));
    if (!left.node.empty()) text += fmt::format(" of node {}", printable(left.node));
    return fmt::format("{} ({} {})", text, left.kind, printable(left.object));
}

void write(json::Writer& writer, const char* key, const std::vector<Left>& all) {
    writer.key(key).begin_array();
    for (const Left& left : all) {
        writer.begin_object().member("kind", left.kind).member("object", left.object).member("address", left.address);
        if (!left.pod.empty()) writer.member("pod", left.pod);
        if (!left.ifname.empty()) writer.member("interface", left.ifname);
        if (!left.node.empty()) writer.member("node", left.node);
        if (!left.rule.empty()) writer.member("rule", left.rule);
        writer.member("reason", left.why).end_object();
    }
    writer.end_array();
}

/// Else there is nothing to say of what is left.
bool has_seen_any(const cluster::Reconciled& result) {
    const auto has_any = [](const std::optional<cluster::SeenKind>& kind) { return kind && kind->count != 0; };
    return has_any(result.seen.pools) || has_any(result.seen.blocks) || !result.kept.empty() || result.needed != 0 ||
           result.foreign != 0 || result.unreadable != 0;
}

} // namespace

std::string to_text(const cluster::Reconciled& result, Act act) {
    const char* freed = act == Act::frees ? "freed" : "would free";
    std::string text = to_text(result.seen);
    for (const Left& left : result.freed)
        text += fmt::format("{} {}, by rule {}: {}\n", freed, describe(left), left.rule, printable(left.why));
    for (const Left& left : result.kept) text += fmt::format("kept {}: {}\n", describe(left), printable(left.why));
    if (result.freed.empty() && result.failure.empty() && has_seen_any(result)) text += "nothing to free\n";
    if (result.needed != 0)
        text += fmt::format("kept {} of pods and nodes that are there\n",
                            base::counted(result.needed, "record or block", "records and blocks"));
    if (result.foreign != 0)
        text += fmt::format("kept {}\n",
                            base::counted(result.foreign, "record that names no pod", "records that name no pod"));
    if (result.unreadable != 0)
        text += fmt::format("kept {}\n", base::counted(result.unreadable, "unreadable record", "unreadable records"));
    return text;
}

std::string to_json(const cluster::Reconciled& result, Act act) {
    json::Writer writer(json::Layout::indented);
    writer.begin_object().member("dryRun", act == Act::only_looks);
    write(writer, result.seen);
    write(writer, "freed", result.freed);
    write(writer, "kept", result.kept);
    writer.member("needed", result.needed).member("foreign", result.foreign).member("unreadable", result.unreadable);
    if (!result.failure.empty()) writer.member("failure", result.failure);
    return fmt::format("{}\n", writer.end_object().to_text());
}

} // namespace rdmanet::ops
