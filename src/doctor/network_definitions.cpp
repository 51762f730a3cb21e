// Networks that name rdmanet: in files of this node, and in the cluster. And ranges that the cluster declares for them.
#include "api_server.hpp"
#include "checks.hpp"
#include "files.hpp"
#include "network_lint.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/ranges.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/json/reader.hpp>

#include <algorithm>

namespace rdmanet::doctor {
namespace {

constexpr auto& kFolders = kNetworkFolders;
constexpr const char* kDefinitions = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions";

/// The networks that do not declare what a pod may ask for. Most are meant so: one finding for all of them.
class Undeclared {
public:
    void take(const std::string& place, const std::vector<std::string>& capabilities) {
        if (capabilities.empty() || count_++ != 0) return;
        first_ = fmt::format("{} lacks {}", place, base::join(capabilities, " and "));
    }

    void report(Findings& found) const {
        if (count_ == 0) return;
        found.info("",
                   fmt::format("{} all that a pod may ask for, so Multus drops such requests (the first: {})",
                               base::counted(count_, "network does not declare", "networks do not declare"), first_),
                   "to allow them, add \"ips\": true, \"mac\": true or \"infinibandGUID\": true to \"capabilities\"");
    }

private:
    std::size_t count_ = 0;
    std::string first_;
};

void check_networks(const Context& context, Findings& found) {
    const auto files = list_network_files(context.root);
    Undeclared undeclared;
    SharedParents parents;
    for (const NetworkFile& file : files)
        undeclared.take(file.path, examine_network({.place = file.path, .text = file.text}, context, parents, found));
    if (files.empty()) throw base::Error(fmt::format("{} and {} have no configuration", kFolders[0], kFolders[1]));
    parents.report(found);
    undeclared.report(found);
}

std::optional<std::string> resource_of(const json::Reader& metadata) {
    const auto annotations = metadata.find("annotations");
    const auto resource = annotations ? annotations->find("k8s.v1.cni.cncf.io/resourceName") : std::nullopt;
    return resource && !resource->string().empty() ? std::optional(resource->string()) : std::nullopt;
}

/// A definition without a configuration stands for a file on each node.
void check_definitions(const Context& context, Findings& found) {
    const auto list = context.api_server.get(kDefinitions);
    if (!list) throw base::Error("the API server has no NetworkAttachmentDefinitions: Multus is not installed there");
    Undeclared undeclared;
    SharedParents parents;
    for (const json::Reader& item : list->root().at("items").elements()) {
        const json::Reader metadata = item.at("metadata");
        const std::string name = metadata.at("name").string();
        const auto spec = item.find("spec");
        const auto text = spec ? spec->find("config") : std::nullopt;
        const Network network{.place = base::scoped_name(metadata.at("namespace").string(), name),
                              .name = name,
                              .text = text ? text->string() : std::string(),
                              .is_definition = true,
                              .resource = resource_of(metadata)};
        undeclared.take(network.place, examine_network(network, context, parents, found));
    }
    parents.report(found);
    undeclared.report(found);
}

/// Throws base::Error if there is no kubeconfig, or no answer: the cluster may have a definition all the same. Several
/// distributions keep the kubeconfig of Multus elsewhere, for example K3s in /var/lib/rancher/k3s/agent/etc/cni/net.d.
bool has_definition(const Context& context) {
    const auto list = context.api_server.get(kDefinitions);
    return list && list->root().to_text().find(config::kPluginName) != std::string::npos;
}

bool has_file(const Context& context) {
    const auto files = list_network_files(context.root);
    return std::ranges::any_of(
        files, [](const NetworkFile& file) { return file.text.find(config::kPluginName) != std::string::npos; });
}

void check_any_network(const Context& context, Findings& found) {
    if (has_file(context) || has_definition(context)) return;
    const bool needs_device = context.inventory.mode() == kernel::RdmaNetnsMode::exclusive;
    found.info("",
               fmt::format("no network names rdmanet, neither in {} and {} nor in a NetworkAttachmentDefinition",
                           kFolders[0], kFolders[1]),
               fmt::format("write a NetworkAttachmentDefinition with \"type\": \"rdmanet\" and {} in its spec.config, "
                           "try it with `rdmanet plan FILE`, then run `kubectl apply -f FILE`",
                           needs_device ? "\"attach\": \"sriov\"" : "a \"master\" that `rdma link` shows"));
}

/// Earlier builds wrote some by themselves.
void check_address_ranges(const Context& context, Findings& found) {
    const auto list = context.api_server.get("/apis/rdmanet.cni/v1alpha1/addressranges");
    if (!list) throw base::Error("the API server does not know AddressRanges");
    for (const json::Reader& item : list->root().at("items").elements()) {
        const auto range = cluster::parse_range(item);
        if (const auto* ignored = std::get_if<cluster::IgnoredRange>(&range))
            found.warning(fmt::format("AddressRange {}", ignored->name), fmt::format("it is ignored: {}", ignored->why),
                          fmt::format("run `kubectl delete addressrange {}`; to have its range in blocks, then apply a "
                                      "correct one",
                                      ignored->name));
    }
}

constexpr Check kNetworkDefinitionChecks[] = {
    {{"networks", Layer::cluster, "networks in files of this node that name rdmanet"}, check_networks},
    {{"definitions", Layer::cluster, "NetworkAttachmentDefinitions that name rdmanet"}, check_definitions},
    {{"any-network", Layer::cluster, "whether a network names rdmanet"}, check_any_network},
    {{"address-ranges", Layer::cluster, "AddressRanges of the cluster that are ignored"}, check_address_ranges},
};

} // namespace

std::span<const Check> network_definition_checks() {
    return kNetworkDefinitionChecks;
}

} // namespace rdmanet::doctor
