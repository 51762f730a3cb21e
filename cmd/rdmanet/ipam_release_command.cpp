// `rdmanet ipam release`: says what it is about to do, and does it with --yes.
#include "ipam_command.hpp"
#include "output.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/ops/ipam_release.hpp>
#include <rdmanet/ops/seen_stores.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::cmd {
namespace {

struct ReleaseOptions {
    std::string address;
    std::string pod;
    bool yes = false;
};

ops::ReleaseTarget target_of(const ReleaseOptions& options) {
    if (options.address.empty() == options.pod.empty())
        throw base::Error("expected --address or --pod: give one of them");
    ops::ReleaseTarget target{.pod = options.pod};
    if (!options.address.empty()) {
        target.address = base::IpAddress::parse(options.address);
        if (!target.address)
            throw base::Error(
                fmt::format("--address: expected an IP address, found {}", base::quoted(options.address)));
    }
    if (!options.pod.empty() && options.pod.find('/') == std::string::npos)
        throw base::Error(fmt::format("--pod: expected NAMESPACE/NAME, found {}", base::quoted(options.pod)));
    return target;
}

/// What became of one lease.
struct Outcome {
    std::string verdict; // "released", "kept", "changed", "failed", "would release"
    std::string what;
    std::string reason;
};

std::string why_kept(const ops::Releasable& each) try { return each.why_kept(); } catch (const base::Error& error) {
    return fmt::format("nobody can say whether it is in use: {}", error.what());
}

/// It is judged right before it is released: its pod may have started meanwhile.
Outcome outcome_of(const ops::Releasable& each, bool yes) {
    if (std::string why = why_kept(each); !why.empty())
        return {.verdict = "kept", .what = each.what, .reason = std::move(why)};
    if (!yes) return {.verdict = "would release", .what = each.what};
    try {
        if (each.release()) return {.verdict = "released", .what = each.what};
        return {.verdict = "changed", .what = each.what, .reason = "it is not as it was a moment ago: look again"};
    } catch (const base::Error& error) {
        return {.verdict = "failed", .what = each.what, .reason = error.what()};
    }
}

std::string to_json(const std::vector<Outcome>& outcomes, const ops::IpamSurvey& survey) {
    json::Writer writer(json::Layout::indented);
    writer.begin_object().key("leases").begin_array();
    for (const Outcome& each : outcomes)
        writer.begin_object()
            .member("verdict", each.verdict)
            .member("lease", each.what)
            .member("reason", each.reason)
            .end_object();
    writer.end_array();
    writer.member("unknown", survey.unknown);
    writer.member("troubles", survey.troubles);
    return fmt::format("{}\n", writer.end_object().to_text());
}

std::string to_text(const std::vector<Outcome>& outcomes, const ops::IpamSurvey& survey) {
    std::string text;
    for (const Outcome& each : outcomes)
        text += fmt::format("{} {}{}{}\n", each.verdict, each.what, each.reason.empty() ? "" : ": ", each.reason);
    for (const std::string& what : survey.unknown) text += fmt::format("not known: {}\n", what);
    for (const std::string& trouble : survey.troubles) text += fmt::format("cannot read {}\n", trouble);
    if (outcomes.empty()) text += ops::to_text(survey.seen) + "nothing to release\n";
    return text;
}

int release(const IpamOptions& options, const ReleaseOptions& own) {
    const ops::ReleaseTarget target = target_of(own);
    const ops::LeasePlaces places = find_lease_places(options);
    ops::IpamClients clients(places);
    const ops::IpamSurvey survey = ops::survey_ipam(places, clients);
    std::vector<Outcome> outcomes;
    for (const ops::Releasable& each : ops::find_releasable(target, survey, places, clients))
        outcomes.push_back(outcome_of(each, own.yes));
    const auto count = [&](const char* verdict) {
        return std::ranges::count_if(outcomes, [&](const Outcome& each) { return each.verdict == verdict; });
    };
    const bool waits = count("would release") != 0;
    if (options.json)
        print(to_json(outcomes, survey));
    else
        print(to_text(outcomes, survey) +
              (waits ? "nothing is released yet: to do it, run the command again with --yes\n" : ""));
    const bool all_done = count("released") == static_cast<std::ptrdiff_t>(outcomes.size());
    return all_done && survey.troubles.empty() ? 0 : 1;
}

} // namespace

IpamVerb add_ipam_release(CLI::App& ipam, IpamOptions& options) {
    CLI::App* command =
        ipam.add_subcommand("release", "release what a terminated pod holds; without --yes, only print that");
    add_place_options(*command, options);
    const auto own = std::make_shared<ReleaseOptions>();
    command->add_option("--address", own->address, "the leases of this address");
    command->add_option("--pod", own->pod, "the leases of this pod: NAMESPACE/NAME");
    command->add_flag("--yes", own->yes, "do it");
    command->footer("Example: rdmanet ipam release --pod default/web");
    return {.command = command, .run = [&options, own] { return release(options, *own); }};
}

} // namespace rdmanet::cmd
