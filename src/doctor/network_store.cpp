#include "network_store.hpp"

#include "network_fit.hpp"

#include <rdmanet/base/host_file.hpp>
#include <rdmanet/ipam/node_file.hpp>
#include <rdmanet/kube/access.hpp>

#include <cstddef>
#include <string_view>

namespace rdmanet::doctor {
namespace {

/// Whether it is there. Throws base::SystemError if it must not be read.
bool require_file(const Network& network, std::string_view what, const std::string& file, const Context& context,
                  Findings& found) {
    constexpr std::size_t kMost = std::size_t{1} << 20U;
    if (base::read_host_file_if_exists(context.root, file, kMost)) return true;
    report_misfit(network, fmt::format("its {} {} is missing on this node, so ADD fails here", what, file),
                  "write it on this node, or correct its path in the network or in the node's file", found);
    return false;
}

void examine_kubeconfig(const Network& network, const std::string& file, const Context& context, Findings& found) {
    if (file.empty() || !require_file(network, "kubeconfig", file, context, found)) return;
    try {
        const std::string directory = ipam::read_node_file(context.root).directory_of(file);
        (void)kube::read_kubeconfig(file, {}, context.root, directory);
    } catch (const base::OutsideError& error) {
        report_misfit(network, fmt::format("ADD fails here: kubeconfig {}", error.what()),
                      "name a kubeconfig below one of these directories in the network", found);
    } catch (const kube::KubeconfigError& error) {
        report_misfit(network, fmt::format("ADD fails here: {}", error.what()),
                      fmt::format("correct kubeconfig {}", file), found);
    }
}

} // namespace

void examine_store(const Network& network, const ipam::Config& ipam, const Context& context, Findings& found) {
    examine_kubeconfig(network, ipam.store.kubeconfig, context, found);
    if (ipam.store.kind == ipam::StoreKind::node && ipam.store.kubeconfig.empty() && !ipam.ranges.empty())
        found.info(
            network.place,
            fmt::format("no cluster is configured, so its range {} is given on this node only",
                        ipam.ranges.front().range),
            fmt::format("if other nodes have the network, too, name the cluster's kubeconfig in {}, or give each "
                        "node a range of its own",
                        ipam::kNodeFile));
}

} // namespace rdmanet::doctor
