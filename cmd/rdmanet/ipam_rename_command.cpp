// `rdmanet ipam rename-node`: etcd knows a node by its machine id and its name.
#include "ipam_command.hpp"
#include "output.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/ops/ipam_survey.hpp>

#include <memory>
#include <string>
#include <vector>

namespace rdmanet::cmd {
namespace {

struct NodeNames {
    std::string from;
    std::string to;
    std::string machine_id;
};

/// Of the node with that name; `given` chooses one of several.
std::string machine_of(cluster::EtcdNodes& nodes, const std::string& name, const std::string& given) {
    std::vector<std::string> machines;
    std::vector<std::string> names;
    for (const cluster::EtcdNodeState& node : nodes.list(ops::survey_deadline())) {
        names.push_back(base::quoted(node.name));
        if (node.name == name && (given.empty() || node.machine_id == given)) machines.push_back(node.machine_id);
    }
    if (machines.empty())
        throw base::Error(fmt::format("etcd has no such node {}, but {}: give the name of one of them",
                                      base::quoted(name), names.empty() ? "no node at all" : base::join(names)));
    if (machines.size() > 1)
        throw base::Error(fmt::format("{} machines are called {}: choose one with --machine-id, of {}", machines.size(),
                                      base::quoted(name), base::join(machines)));
    return machines.front();
}

int rename(const IpamOptions& options, const NodeNames& names) {
    const ops::LeasePlaces places = find_lease_places(options);
    if (!places.etcd)
        throw base::Error("no etcd is named: run this on a node whose file names it, or give --network FILE");
    ops::IpamClients clients(places);
    const std::string machine_id = machine_of(clients.etcd_nodes(), names.from, names.machine_id);
    const std::size_t count = clients.etcd_nodes().rename(machine_id, names.from, names.to, ops::survey_deadline());
    if (options.json) {
        json::Writer writer(json::Layout::indented);
        writer.begin_object().member("machineID", machine_id).member("node", names.to);
        print(fmt::format("{}\n", writer.member("leases", std::uint64_t{count}).end_object().to_text()));
    } else {
        print(fmt::format("{} of machine {} {} of node {} now\n", base::counted(count, "lease", "leases"), machine_id,
                          count == 1 ? "is" : "are", names.to));
    }
    return 0;
}

} // namespace

IpamVerb add_ipam_rename_node(CLI::App& ipam, IpamOptions& options) {
    CLI::App* command =
        ipam.add_subcommand("rename-node", "tell etcd that a machine has another name; its pods keep their addresses");
    add_place_options(*command, options);
    const auto names = std::make_shared<NodeNames>();
    command->add_option("OLD", names->from, "the name that etcd knows")->required();
    command->add_option("NEW", names->to, "the name that the node has now")->required();
    command->add_option("--machine-id", names->machine_id, "which machine, if several have the name");
    command->footer("Example: rdmanet ipam rename-node old-name new-name");
    return {.command = command, .run = [&options, names] { return rename(options, *names); }};
}

} // namespace rdmanet::cmd
