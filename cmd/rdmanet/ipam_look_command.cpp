// `rdmanet ipam show` and `rdmanet ipam check`: what changes nothing.
#include "ipam_command.hpp"
#include "output.hpp"

#include <rdmanet/ops/ipam_check.hpp>
#include <rdmanet/ops/ipam_report.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace rdmanet::cmd {
namespace {

constexpr unsigned kPause = 10;
constexpr unsigned kLongestPause = 3600;

int show(const IpamOptions& options, const std::string& node) {
    const ops::LeasePlaces places = find_lease_places(options);
    ops::IpamClients clients(places);
    const ops::IpamReport report = ops::report_ipam(ops::survey_ipam(places, clients), node);
    print(options.json ? ops::to_json(report) : ops::to_table(report));
    return report.troubles.empty() ? 0 : 1;
}

struct CheckOptions {
    unsigned pause = kPause;
    bool repair = false;
};

int check(const IpamOptions& options, const CheckOptions& own) {
    const ops::LeasePlaces places = find_lease_places(options);
    ops::IpamClients clients(places);
    ops::IpamRepair repair;
    if (own.repair) repair = ops::repair_ipam(places);
    ops::IpamCheck checked = ops::check_ipam(places, clients, std::chrono::seconds(own.pause));
    checked.repair = std::move(repair);
    print(options.json ? ops::to_json(checked) : ops::to_text(checked));
    return checked.faults.empty() && checked.troubles.empty() && checked.repair.refused.empty() ? 0 : 1;
}

} // namespace

IpamVerb add_ipam_show(CLI::App& ipam, IpamOptions& options) {
    CLI::App* command = ipam.add_subcommand(
        "show", "show ranges, blocks and leases of the node and of the cluster, whoever wrote them; changes nothing");
    add_place_options(*command, options);
    const auto node = std::make_shared<std::string>();
    command->add_option("--node", *node, "only the blocks and leases of this node");
    command->footer("Example: rdmanet ipam show --kubeconfig ~/.kube/config");
    return {.command = command, .run = [&options, node] { return show(options, *node); }};
}

IpamVerb add_ipam_check(CLI::App& ipam, IpamOptions& options) {
    CLI::App* command = ipam.add_subcommand(
        "check", "compare leases with journal, kernel, pods and nodes; exit status 1 if anything is wrong");
    add_place_options(*command, options);
    const auto own = std::make_shared<CheckOptions>();
    command->add_flag("--repair", own->repair, "first create again, on this node, the missing leases of living pods");
    command
        ->add_option("--pause", own->pause,
                     "seconds until what seems wrong is looked at again, because it may just be changing")
        ->check(CLI::Range(0U, kLongestPause))
        ->capture_default_str();
    command->footer("Example: rdmanet ipam check");
    return {.command = command, .run = [&options, own] { return check(options, *own); }};
}

} // namespace rdmanet::cmd
