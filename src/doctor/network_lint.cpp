#include "network_lint.hpp"

#include "kubelet.hpp"
#include "network_fit.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/host_file.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/net_conf.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/ipam/node_file.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kube/access.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

namespace rdmanet::doctor {
namespace {

using json::Reader;

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

/// Reports a kubeconfig that is absent, or not what it should be, as report_misfit() does, and a range that other nodes
/// may give as well. Throws base::SystemError for a file that this user must not read.
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

std::string text_at(const Reader& object, std::string_view key) {
    const auto value = object.is_object() ? object.find(key) : std::nullopt;
    return value && value->is_string() ? value->string() : std::string();
}

bool is_ours(const Reader& plugin) {
    if (text_at(plugin, "type") == config::kPluginName) return true;
    const auto ipam = plugin.is_object() ? plugin.find("ipam") : std::nullopt;
    return ipam && text_at(*ipam, "type") == config::kPluginName;
}

/// The configuration itself, or the entries of a list that name rdmanet.
std::vector<Reader> list_ours(const Reader& root) {
    if (!root.is_object()) return {};
    const auto plugins = root.find("plugins");
    if (!plugins || !plugins->is_array()) return is_ours(root) ? std::vector{root} : std::vector<Reader>{};
    std::vector<Reader> all;
    for (const Reader& plugin : plugins->elements())
        if (is_ours(plugin)) all.push_back(plugin);
    return all;
}

/// One of the devices that the kubelet of this node has of the resource; empty if it has none, or is not there.
std::string device_of(const Context& context, const std::string& resource) try {
    const auto& resources = context.kubelet.devices().resources;
    const auto at = resources.find(resource);
    return at == resources.end() || at->second.empty() ? std::string() : at->second.front();
} catch (const base::Error&) {
    return {};
}

/// As the plugin gets it: libcni passes on the list's version and name, and Multus a device.
std::string as_for_plugin(const Reader& root, const Reader& ours, const Network& network, const std::string& device) {
    json::Writer writer;
    writer.begin_object();
    for (const auto& [key, value] : ours.members())
        if (!base::equals_ignoring_case(key, "name") && !base::equals_ignoring_case(key, "cniVersion"))
            writer.key(key).raw(value.to_text());
    if (const auto version = root.find("cniVersion")) writer.key("cniVersion").raw(version->to_text());
    if (const auto name = root.find("name"))
        writer.key("name").raw(name->to_text());
    else if (network.is_definition)
        writer.member("name", network.name);
    if (!device.empty() && !ours.find("deviceID")) writer.member("deviceID", device);
    return writer.end_object().to_text();
}

bool needs_device(const config::Config& config) {
    if (config.device) return false;
    if (std::holds_alternative<config::Sriov>(config.attach)) return true;
    const auto* whole = std::get_if<config::HostDevice>(&config.attach);
    return whole != nullptr && !whole->name && !whole->hwaddr;
}

/// Only a definition says where Multus gets the pod's device from. False if the scheduler puts its pods on other nodes.
bool examine_resource(const Network& network, const config::Config& config, const Context& context, Findings& found) {
    if (!network.is_definition) return true;
    if (!network.resource) {
        if (needs_device(config))
            found.warning(
                network.place,
                fmt::format("each pod needs a device (\"attach\": \"{}\"), and the definition has no annotation "
                            "k8s.v1.cni.cncf.io/resourceName, so ADD fails unless the device comes another way "
                            "(runtimeConfig, CNI_ARGS, or dynamic resource allocation)",
                            config.kind()),
                fmt::format("run `kubectl annotate -n {} net-attach-def {} "
                            "k8s.v1.cni.cncf.io/resourceName=RESOURCE`, where RESOURCE is that of the device plugin: "
                            "`kubectl describe node` shows it under Allocatable",
                            network.place.substr(0, network.place.find('/')), network.name));
        return true;
    }
    try {
        if (context.kubelet.devices().resources.count(*network.resource) != 0) return true;
    } catch (const base::Error&) {
        return true; // check "resources" says why
    }
    found.info(network.place,
               fmt::format("its resource {} is not registered with the kubelet of this node, so its pods run elsewhere",
                           *network.resource),
               "if they shall run here, check the device plugin's configuration for this node");
    return false;
}

bool declares(const Reader& ours, std::string_view capability) {
    const auto capabilities = ours.find("capabilities");
    const auto declared = capabilities ? capabilities->find(capability) : std::nullopt;
    return declared && declared->boolean();
}

/// A VF of InfiniBand gets a GUID, and no MAC. The configuration need not say which it is.
bool is_for_infiniband(const Reader& ours, const config::Sriov& vf, const Context& context) {
    if (vf.settings.port_guid || declares(ours, "infinibandGUID")) return true;
    std::size_t of_ethernet = 0;
    std::size_t of_infiniband = 0;
    for (const inventory::Device& device : context.inventory.devices)
        for (const inventory::RdmaDevice& rdma : device.rdma) ++(rdma.protocol == "ib" ? of_infiniband : of_ethernet);
    return of_ethernet == 0 && of_infiniband != 0;
}

/// The requests of pods that fit to the kind, and that Multus drops silently where the network does not declare them.
std::vector<std::string> undeclared(const Reader& ours, const config::Config& config, const Context& context) {
    std::vector<std::string> fitting;
    if (std::holds_alternative<ipam::Config>(config.ipam)) fitting.emplace_back("ips");
    const auto* vf = std::get_if<config::Sriov>(&config.attach);
    if (vf != nullptr && is_for_infiniband(ours, *vf, context))
        fitting.emplace_back("infinibandGUID");
    else if (vf != nullptr || config.is_macvlan())
        fitting.emplace_back("mac");
    std::vector<std::string> missing;
    for (const std::string& key : fitting)
        if (!declares(ours, key)) missing.push_back(base::quoted(key));
    return missing;
}

std::vector<std::string> examine_entry(const Network& network, const std::string& text, const Reader& ours,
                                       const Context& context, SharedParents& parents, Findings& found) {
    const cni::NetConf conf = cni::parse_net_conf(text, cni::Strictness::strict);
    if (config::is_ipam_only(conf)) {
        std::vector<std::string> warnings;
        config::require_sound(config::parse_ipam(conf, warnings, context.root));
        return {};
    }
    const config::Config config = config::parse_config(conf, context.root);
    config::require_sound(config.ipam);
    for (const std::string& key : config.useless_keys.unknown)
        found.warning(network.place, fmt::format("unknown key {}", key), "correct or remove it");
    if (examine_resource(network, config, context, found)) {
        examine_fit(network, conf.name, config, context, parents, found);
        if (const auto* ipam = std::get_if<ipam::Config>(&config.ipam)) examine_store(network, *ipam, context, found);
    }
    return undeclared(ours, config, context);
}

} // namespace

void SharedParents::take(const Network& network, const std::string& parent, std::string_view kind) {
    uses_.push_back({.place = network.place, .is_definition = network.is_definition, .parent = parent, .kind = kind});
}

void SharedParents::report(Findings& found) const {
    for (auto use = uses_.begin(); use != uses_.end(); ++use) {
        const auto other = std::find_if(
            uses_.begin(), use, [&](const Use& each) { return each.parent == use->parent && each.kind != use->kind; });
        if (other == use) continue;
        const std::string what = fmt::format("it wants {} children on {}, and {} wants {} children there: one kind "
                                             "excludes the other",
                                             use->kind, use->parent, other->place, other->kind);
        const std::string fix = "give both the same \"attach\", or one of them another \"master\"";
        if (use->is_definition)
            found.info(use->place, what, fix);
        else
            found.warning(use->place, what, fix);
    }
}

std::vector<std::string> examine_network(const Network& network, const Context& context, SharedParents& parents,
                                         Findings& found) {
    std::vector<std::string> missing;
    if (network.text.find(config::kPluginName) == std::string::npos) return missing;
    try {
        const json::Document document = json::Document::parse(network.text);
        const Reader root = document.root();
        const std::string device = network.resource ? device_of(context, *network.resource) : std::string();
        for (const Reader& ours : list_ours(root)) {
            const std::string text = as_for_plugin(root, ours, network, device);
            for (std::string& each : examine_entry(network, text, ours, context, parents, found))
                missing.push_back(std::move(each));
        }
    } catch (const kernel::NetlinkError&) {
        throw; // this node cannot be asked, and the network may be right
    } catch (const base::SystemError&) {
        throw;
    } catch (const base::Error& error) {
        found.failure(network.place, fmt::format("ADD refuses it: {}", error.what()),
                      "correct it, and try it with `rdmanet plan`");
    }
    return missing;
}

} // namespace rdmanet::doctor
