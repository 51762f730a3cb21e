#include <rdmanet/ops/ipam_migrate.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/ops/table.hpp>

#include <algorithm>

namespace rdmanet::ops {
namespace {

using cluster::MigratedRange;
using cluster::MigrateOptions;

std::string describe(const MigratedRange& range, const MigrateOptions& options) {
    if (range.from.empty())
        return fmt::format("nothing has addresses of it: set \"store\": \"{}\" in the network", options.to);
    if (range.from == options.to) return fmt::format("is in store \"{}\"", options.to);
    const char* verb = range.is_moved ? "moved" : "would move";
    return fmt::format("{} from store \"{}\" to store \"{}\"", verb, range.from, options.to);
}

/// "stays: 10.0.0.1/24 of pod ...: WHY"
std::string describe(const attach::LeaseMove& move, const MigrateOptions& options) {
    const bool is_dry = options.act == MigrateOptions::Act::only_looks;
    switch (move.fate) {
    case attach::LeaseMove::Fate::moved:
        return fmt::format("{}: {} from store \"{}\" to store \"{}\"", is_dry ? "would move" : "moved", move.what,
                           move.from, options.to);
    case attach::LeaseMove::Fate::released:
        return fmt::format("{}: {}, whose pod is gone", is_dry ? "would be released" : "released", move.what);
    case attach::LeaseMove::Fate::stays: break;
    }
    return fmt::format("stays: {}: {}", move.what, move.why);
}

std::string describe_rest(const std::vector<attach::LeaseMove>& leases) {
    const auto rest = std::count_if(leases.begin(), leases.end(), [](const attach::LeaseMove& move) {
        return move.fate == attach::LeaseMove::Fate::stays;
    });
    if (rest == 0) return {};
    return "The ranges still have leases in two stores, so this node gives no new address of them: remove the causes, "
           "then run this command again.\n";
}

} // namespace

std::string to_text(const std::vector<MigratedRange>& ranges, const std::vector<attach::LeaseMove>& leases,
                    const MigrateOptions& options) {
    std::string text;
    bool is_held = false;
    for (const MigratedRange& range : ranges) {
        text += fmt::format("range {}: {}\n", range.place.subnet, describe(range, options));
        if (range.is_going)
            text += fmt::format("  somebody has deleted AddressRange {}: it gives no new address\n", range.object);
        if (range.held.empty()) continue;
        is_held = true;
        text += fmt::format("  store \"{}\" leaves out {}, which others still have:\n", options.to,
                            ipam::counted_addresses(ipam::count_of(range.held)));
        for (const std::string& holder : range.holders) text += fmt::format("    {}\n", printable(holder));
    }
    if (is_held && options.act == cluster::MigrateOptions::Act::moves)
        text +=
            "They can be given again when their pods are gone, and this command or `rdmanet ipam reconcile` has run.\n";
    for (const attach::LeaseMove& move : leases) text += printable(describe(move, options)) + "\n";
    return text + describe_rest(leases);
}

std::string to_json(const std::vector<MigratedRange>& ranges, const std::vector<attach::LeaseMove>& leases,
                    const MigrateOptions& options) {
    json::Writer writer(json::Layout::indented);
    writer.begin_object()
        .member("dryRun", options.act == cluster::MigrateOptions::Act::only_looks)
        .member("to", options.to);
    writer.key("ranges").begin_array();
    for (const MigratedRange& range : ranges) {
        writer.begin_object().member("range", range.place.subnet.to_string()).member("space", range.place.space);
        writer.member("object", range.object).member("from", range.from).member("moved", range.is_moved);
        writer.member("deleted", range.is_going);
        writer.key("held").begin_array();
        for (const ipam::Interval& interval : range.held)
            writer.value(ipam::to_text(range.place.subnet.family(), interval));
        writer.end_array().key("holders").begin_array();
        for (const std::string& holder : range.holders) writer.value(holder);
        writer.end_array().end_object();
    }
    writer.end_array().key("leases").begin_array();
    for (const attach::LeaseMove& move : leases) {
        writer.begin_object().key("addresses").begin_array();
        for (const std::string& address : move.addresses) writer.value(address);
        writer.end_array().member("what", move.what).member("from", move.from);
        writer.member("fate", to_string(move.fate)).member("reason", move.why).end_object();
    }
    return writer.end_array().end_object().to_text() + "\n";
}

} // namespace rdmanet::ops
