// `rdmanet ipam migrate`: the ranges of a network go to another lease store, while pods come and go.
#include "ipam_command.hpp"
#include "lease_places.hpp"
#include "output.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/migrate.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/ops/ipam_migrate.hpp>
#include <rdmanet/ops/ipam_survey.hpp>
#include <rdmanet/ops/node_move.hpp>

#include <unistd.h>

#include <chrono>
#include <memory>
#include <utility>

namespace rdmanet::cmd {
namespace {

using cluster::MigrateOptions;

// Without the pause: several looks at all pools and blocks of each range.
constexpr std::chrono::minutes kLongestMove{5};

struct MigrateCommand {
    std::string to;
    bool dry_run = false;
    unsigned pause = 10; // seconds
};

std::vector<cluster::Place> places_in(const ipam::Config& network) {
    std::vector<cluster::Place> places;
    for (const ipam::ConfiguredRange& range : network.ranges) {
        const base::IpPrefix& subnet = range.range.subnet();
        places.push_back(
            {.space = range.space, .subnet = base::IpPrefix::make(subnet.network(), subnet.length()).value()});
    }
    return places;
}

int migrate(const IpamOptions& options, const MigrateCommand& own) {
    if (own.to != "whereabouts" && own.to != "blocks" && own.to != "node")
        throw base::Error(
            fmt::format("--to: expected \"whereabouts\", \"blocks\" or \"node\", found {}", base::quoted(own.to)));
    const ops::LeasePlaces stores = find_lease_places(options);
    ops::IpamClients clients(stores);
    if (!clients.has_kube())
        throw base::Error(
            fmt::format("no API server is named: give --kubeconfig, or name a kubeconfig in {}", ipam::kNodeFile));
    MigrateOptions wanted{.places = places_in(*stores.network),
                          .to = own.to,
                          .act = own.dry_run ? MigrateOptions::Act::only_looks : MigrateOptions::Act::moves,
                          .block_size = stores.network->store.block_size,
                          .requestable = stores.network->store.requestable,
                          .pause = std::chrono::seconds(own.pause),
                          .note = [](const std::string& text) {
                              base::write_all(STDERR_FILENO, fmt::format("rdmanet: {}\n", text), "standard error");
                          }};
    if (wanted.places.empty()) throw base::Error("the network has no range, so there is nothing to move");
    ops::NodeMove on_node(stores, clients, wanted);
    on_node.require_possible();
    if (on_node.is_present()) wanted.outside.push_back(&on_node);
    const base::Deadline deadline = base::Deadline::in(kLongestMove + wanted.pause);
    std::vector<cluster::MigratedRange> moved;
    const auto print_moved = [&] {
        print(options.json ? ops::to_json(moved, on_node.leases(), wanted)
                           : ops::to_text(moved, on_node.leases(), wanted));
    };
    try {
        cluster::migrate(clients.kube(), wanted, moved, deadline);
        if (on_node.follow()) { // what was held is here by now
            moved.clear();
            cluster::migrate(clients.kube(), wanted, moved, deadline);
        }
    } catch (const base::Error&) {
        if (!moved.empty() || !on_node.leases().empty()) print_moved(); // what is done is done
        throw;
    }
    print_moved();
    return on_node.is_done() ? 0 : 1;
}

} // namespace

IpamVerb add_ipam_migrate(CLI::App& ipam, IpamOptions& options) {
    CLI::App* command = ipam.add_subcommand("migrate", "let another store give the addresses of a network's ranges");
    const auto own = std::make_shared<MigrateCommand>();
    command->add_option("--to", own->to, "the store: \"whereabouts\", \"blocks\" or \"node\"")->required();
    command
        ->add_option("--network", options.network_file,
                     "the network: a file as for `rdmanet plan`, - for standard input")
        ->required();
    command->add_option("--name", options.network, "name of the NetworkAttachmentDefinition in that file");
    command->add_option(
        "--kubeconfig", options.kubeconfig,
        fmt::format("kubeconfig file to use; default: the one of the network or of {}", ipam::kNodeFile));
    add_namespace_option(*command, options);
    command
        ->add_option("--state-dir", options.state_directory,
                     "directory of records and leases; default: RDMANET_STATE_DIR, else /run/rdmanet")
        ->capture_default_str();
    command->add_flag("--dry-run", own->dry_run, "change nothing, and print what would be done or why it is refused");
    command->add_option("--pause", own->pause, "for how many seconds to look whether whereabouts writes")
        ->capture_default_str();
    add_output_options(*command, options.json);
    command->footer("Example: rdmanet ipam migrate --network nad.yaml --to blocks --dry-run");
    return {.command = command, .run = [&options, own] { return migrate(options, *own); }, .is_about_node = false};
}

} // namespace rdmanet::cmd
