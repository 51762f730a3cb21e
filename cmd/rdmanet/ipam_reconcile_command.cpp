// `rdmanet ipam reconcile`: frees what pods and nodes that are gone have left in the cluster.
#include "ipam_command.hpp"
#include "output.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/cluster/reconcile.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/kube/access.hpp>
#include <rdmanet/ops/ipam_survey.hpp>
#include <rdmanet/ops/reconcile_report.hpp>

#include <unistd.h>

#include <chrono>
#include <memory>

namespace rdmanet::cmd {
namespace {

// A page of a long list takes a busy server longer than what an ADD asks for.
constexpr http::Limits kLimits{
    .connect = std::chrono::seconds(2), .request = std::chrono::seconds(30), .most_bytes = http::kMostOfPage};
// In all: two checks, two minutes between them, and what is to be freed.
constexpr std::chrono::minutes kLongest{20};

void note(const std::string& text) {
    base::write_all(STDERR_FILENO, fmt::format("rdmanet: {}\n", text), "standard error");
}

/// Returns the exit status. Throws base::Error if something ended the work, after the report.
int reconcile(const IpamOptions& places, bool is_dry_run) {
    using Wanted = cluster::ReconcileOptions;
    kube::Access access = ops::find_access(find_lease_places(places));
    for (const std::string& warning : access.warnings) note(warning);
    kube::Api api(std::move(access), kLimits);
    const Wanted wanted{.act = is_dry_run ? Wanted::Act::only_looks : Wanted::Act::frees, .note = note};
    const cluster::Reconciled result = cluster::reconcile(api, wanted, base::Deadline::in(kLongest));
    print(places.json ? ops::to_json(result, wanted.act) : ops::to_text(result, wanted.act));
    if (!result.failure.empty()) throw base::Error(result.failure);
    return 0;
}

} // namespace

IpamVerb add_ipam_reconcile(CLI::App& ipam, IpamOptions& places) {
    CLI::App* command =
        ipam.add_subcommand("reconcile", "free what terminated pods and vanished nodes have left in the cluster");
    const auto is_dry_run = std::make_shared<bool>(false);
    command->add_flag("--dry-run", *is_dry_run, "check once, and print what would be freed and by which rule");
    add_output_options(*command, places.json);
    add_cluster_options(*command, places);
    command->footer("Example: rdmanet ipam reconcile --dry-run --kubeconfig ~/.kube/config");
    return {.command = command,
            .run = [&places, is_dry_run] { return reconcile(places, *is_dry_run); },
            .is_about_node = false};
}

} // namespace rdmanet::cmd
