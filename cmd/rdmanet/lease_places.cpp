#include "ipam_command.hpp"
#include "network_file.hpp"
#include "output.hpp"
#include "plugin.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/ipam/node_file.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/kube/access.hpp>

#include <unistd.h>

#include <utility>

namespace rdmanet::cmd {
namespace {

/// Of rdmanet, or of whereabouts: its networks are read as rdmanet's.
std::optional<json::Reader> find_ipam(const json::Reader& configuration) {
    if (!configuration.is_object()) return std::nullopt;
    auto ipam = configuration.find("ipam");
    if (!ipam || !ipam->is_object()) return std::nullopt;
    const auto type = ipam->find("type");
    if (!type || (type->string() != "rdmanet" && type->string() != "whereabouts")) return std::nullopt;
    return ipam;
}

ipam::Config read_network(const std::string& text) {
    const json::Document document = json::Document::parse(text);
    const json::Reader root = document.root();
    if (const auto ipam = find_ipam(root)) return ipam::parse_config(*ipam);
    if (const auto plugins = root.is_object() ? root.find("plugins") : std::nullopt)
        for (const json::Reader& plugin : plugins->elements())
            if (const auto ipam = find_ipam(plugin)) return ipam::parse_config(*ipam);
    throw base::Error("expected a network whose \"ipam\" has type \"rdmanet\" or \"whereabouts\"");
}

ipam::Config read_network_file(const IpamOptions& options) {
    std::string text = read_network_input(options.network_file);
    return base::in_context(name_of(options.network_file), [&] {
        return read_network(choose_network(std::move(text), options.network).configuration);
    });
}

} // namespace

void add_cluster_options(CLI::App& command, IpamOptions& options) {
    command.add_option("--kubeconfig", options.kubeconfig,
                       fmt::format("kubeconfig file to use; default: the one that {} names, or in a pod, its "
                                   "ServiceAccount",
                                   ipam::kNodeFile));
    command.add_option("--namespace", options.name_space,
                       "namespace of IPPools and reservations; default: that of the kubeconfig's context, else "
                       "kube-system");
}

void add_place_options(CLI::App& command, IpamOptions& options) {
    add_common_options(command, options.state_directory, options.json);
    add_cluster_options(command, options);
    command.add_option("--network", options.network_file,
                       "only the ranges of this network: a file as for `rdmanet plan`, - for standard input");
    command.add_option("--name", options.network, "name of the NetworkAttachmentDefinition in that file");
}

bool is_about_node_only(const IpamOptions& options) {
    return options.kubeconfig.empty() && !kube::is_in_pod_with_account();
}

ops::LeasePlaces find_lease_places(const IpamOptions& options) {
    // It becomes a part of requests' paths.
    if (!options.name_space.empty() && !base::is_name_of_object(options.name_space))
        throw base::Error(
            fmt::format("--namespace: expected the name of a namespace, found {}", base::quoted(options.name_space)));
    ipam::NodeFile file = ipam::read_node_file();
    ops::LeasePlaces places{.state_directory = options.state_directory,
                            .kubeconfig = std::move(file.kubeconfig),
                            .name_space = options.name_space,
                            .node_name = std::move(file.node_name)};
    if (!options.network_file.empty()) {
        places.network = read_network_file(options);
        const ipam::StoreChoice& store = places.network->store;
        if (!store.kubeconfig.empty()) places.kubeconfig = store.kubeconfig;
        if (!store.node_name.empty()) places.node_name = store.node_name;
    }
    if (!options.kubeconfig.empty()) places.kubeconfig = options.kubeconfig;
    // Another user may look at the cluster, but not into the node's files.
    if (::geteuid() != 0 && !is_about_node_only(options)) places.state_directory.clear();
    return places;
}

} // namespace rdmanet::cmd
