// Runs the networks, pods, plans, calls and errors of README and docs/ on a real kernel. The test knows no page or
// section. It tries whatever it finds, so that documents can be restructured.
#include "documented.hpp"
#include "example_node.hpp"
#include "example_pod.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace rdmanet::test {

using Catch::Matchers::StartsWith;
namespace fs = std::filesystem;

namespace {

/// One side of a block of the language "diff": '-' before the change, '+' after it.
std::string side_of(const CodeBlock& block, char side) {
    std::string text;
    for (const std::string& line : lines_of(block.text))
        if (line.starts_with(' ') || line.starts_with(side)) text += concat(line.substr(1), '\n');
    return text;
}

enum class NodeKind : std::uint8_t { shared, exclusive, infiniband };

/// Our entry in a configuration or a list.
json::Reader our_entry(const json::Document& config) {
    const auto plugins = config.root().find("plugins");
    if (!plugins) return config.root();
    for (const json::Reader& plugin : plugins->elements())
        if (plugin.at("type").string() == "rdmanet") return plugin;
    throw base::Error("a documented list has no entry of rdmanet");
}

NodeKind node_of(const std::string& config) {
    const json::Document document = json::Document::parse(config);
    const json::Reader entry = our_entry(document);
    const auto attach = entry.find("attach");
    const std::string kind = attach ? attach->string() : "macvlan";
    const auto capabilities = entry.find("capabilities");
    if (kind == "ipoib" || entry.find("guid") || (capabilities && capabilities->find("infinibandGUID")))
        return NodeKind::infiniband;
    return kind == "macvlan" || kind == "ipvlan" ? NodeKind::shared : NodeKind::exclusive;
}

/// The host interface or device of a network, "KEY VALUE" as in messages.
std::string place_of(const std::string& config) {
    const json::Document document = json::Document::parse(config);
    for (const char* key : {"master", "device"})
        if (const auto place = our_entry(document).find(key)) return concat(key, " \"", place->string(), '"');
    return "device ffff:ff:1f.7"; // the --device of the call below
}

/// The networks and pods of a document. A network without a pod gets one. A definition without "spec" gets the list
/// of its name, which Multus would read from the node.
Manifests manifests_of(const Markdown& document) {
    Manifests all;
    int configurations = 0;
    const auto add_configuration = [&](const std::string& text) {
        const json::Document config = json::Document::parse(text);
        const auto name = config.root().find("name");
        const auto from_node = std::find_if(all.networks.begin(), all.networks.end(), [&](const auto& network) {
            return network.config.empty() && name && network.name == name->string();
        });
        if (from_node != all.networks.end()) {
            from_node->config = text;
            return;
        }
        const auto attach = our_entry(config).find("attach");
        ++configurations;
        all.networks.push_back({.key = concat("json/", configurations),
                                .name = name ? name->string() : concat("json", configurations),
                                .config = text,
                                .resource = attach && attach->string() == "sriov" ? "openshift.io/roce_vf" : ""});
    };
    for (const CodeBlock& block : document.blocks) {
        if (block.language == "yaml") read_manifests(block.text, all);
        if (block.language == "json") add_configuration(block.text);
        if (block.language == "diff") add_configuration(side_of(block, '+'));
    }
    const auto has_pod = [&](const std::string& key) {
        return std::any_of(all.pods.begin(), all.pods.end(),
                           [&](const PodManifest& pod) { return pod.networks.at(0).key == key; });
    };
    for (const NetworkAttachmentDefinition& network : all.networks)
        if (!has_pod(network.key)) {
            all.pods.push_back({.pod_namespace = "json",
                                .name = concat("pod", all.pods.size()),
                                .networks = {{.key = network.key, .ifname = "net1"}}});
            if (!network.resource.empty()) all.pods.back().resources = {{network.resource, 1}};
        }
    return all;
}

/// Calls `act` with each documented pod whose first network needs this kind of node, and with the objects of its
/// document.
template <class Act>
int for_each_pod(NodeKind kind, const Act& act) {
    int pods = 0;
    for (const Markdown& document : documents()) {
        const Manifests all = manifests_of(document);
        for (const PodManifest& pod : all.pods) {
            if (node_of(all.network(pod.networks.at(0).key).config) != kind) continue;
            INFO(document.file << ": " << pod.name);
            ++pods;
            act(pod, all);
        }
    }
    return pods;
}

/// A documented pod on that network.
const PodManifest& pod_on(const std::string& network, const Manifests& all) {
    for (const PodManifest& pod : all.pods)
        if (pod.networks.at(0).key == network) return pod;
    throw base::Error(concat("no documented pod on ", network));
}

/// The README's network. The quoted errors are about it.
const char* const kVfNetwork = "default/roce-vf";

/// The configuration of a VF's network as Multus passes it on.
std::string vf_config(const Manifests& all, const std::string& vf) {
    const NetworkAttachmentDefinition& network = all.network(kVfNetwork);
    return concat("{\"name\":\"", network.name, "\",\"deviceID\":\"", vf, "\",",
                  network.config.substr(network.config.find('{') + 1));
}

/// Replaces the PCI address of a VF here by the documents' address.
std::string with_documented_vf(std::string message, const std::string& vf) {
    return message.replace(message.find(vf), vf.size(), "0000:3b:00.2");
}

/// Lines of blocks of the language "text". An indented line continues the line above it.
std::set<std::string> quotes() {
    std::vector<std::string> quotes;
    for (const Markdown& document : documents())
        for (const CodeBlock& block : document.blocks) {
            if (block.language != "text") continue;
            for (const std::string& line : lines_of(block.text))
                if (line.starts_with("    "))
                    quotes.back() += line.substr(3);
                else
                    quotes.push_back(line);
        }
    return {quotes.begin(), quotes.end()};
}

} // namespace

TEST_CASE("the documented networks with shared RDMA give a pod its addresses and GIDs", "[examples][readme]") {
    NEEDS(ExampleNode::lacks().empty(), ExampleNode::lacks());
    const ExampleNode node;
    const int pods = for_each_pod(NodeKind::shared, [&](const PodManifest& manifest, const Manifests& all) {
        const std::string& config = all.network(manifest.networks.at(0).key).config;
        CHECK_THAT(run_process({binary(), "plan", "--name", "documented"}, {.input = config}).out,
                   Names("interface \"net1\"", "port 1", "mlx5_0"));
        const RunningPod pod(manifest, all);
        CHECK_THAT(addresses(pod.result(0)), StartsWith("192.168."));
        CHECK(addresses_without_gid(pod.result(0), "mlx5_0", "net1") == "");
        CHECK(pod.check() == "");
        CHECK(pod.del() == "");
    });
    CHECK(pods >= 2);
    CHECK(node.difference() == "");
}

TEST_CASE("the documented networks move a device into each pod, and the quoted errors are the binary's",
          "[examples][readme][sriov]") {
    NEEDS(ExclusiveExampleNode::lacks().empty(), ExclusiveExampleNode::lacks());
    std::set<std::string> messages;
    const Manifests readme = manifests_of(read_markdown("README.md"));
    {
        const ExclusiveExampleNode node;
        { // first, because the addresses of later pods differ
            const Pod pod("pod");
            messages.insert(message_of(refusal(call_of(pod, example()))));
            const RunningPod owner(pod_on(kVfNetwork, readme), readme, node.vfs());
            const std::string vf = node.vfs().front();
            messages.insert(with_documented_vf(message_of(refusal(call_of(pod, vf_config(readme, vf)))), vf));
            CHECK(owner.del() == "");
        }
        const int pods = for_each_pod(NodeKind::exclusive, [&](const PodManifest& manifest, const Manifests& all) {
            const NetworkAttachmentDefinition& network = all.network(manifest.networks.at(0).key);
            if (!network.resource.empty())
                CHECK(manifest.resources == std::map<std::string, unsigned>{{network.resource, 1}});
            const RunningPod pod(manifest, all, node.vfs());
            CHECK_THAT(addresses(pod.result(0)), StartsWith("192.168."));
            CHECK(addresses_without_gid(pod.pod(), pod.result(0)) == "");
            CHECK(failure_of(pod.pod(), "rdma link | grep 'netdev net1'") == "");
            if (network.config.find("\"vlan\": 100") != std::string::npos)
                CHECK(succeeds("ip link show eth1 | grep 'vf 0 .* vlan 100'"));
            CHECK(pod.check() == "");
            CHECK(pod.del() == "");
        });
        CHECK(pods >= 1);
        CHECK(node.difference() == "");
    }
    const Vfs vfs("shared", 1);
    const std::string vf = vfs.vf(0);
    const ExampleNode node;
    const Pod pod("pod");
    const UnchangedNode refused;
    shell("ip link set eth1 down");
    messages.insert(message_of(refusal(call_of(pod, example()))));
    shell("ip link set eth1 up");
    messages.insert(message_of(refusal(call_of(pod, example_with("'mtu':9000")))));
    messages.insert(message_of(refusal(call_of(pod, vf_config(readme, vf)))));
    CHECK(refused.difference() == "");
    CHECK(quotes() == messages);
}

// No documented interface or device exists on this node. The refusal names it, and comes after the checks of keys and
// values.
TEST_CASE("the documented networks are valid on any node", "[examples][readme]") {
    for (const NodeKind kind : {NodeKind::shared, NodeKind::exclusive, NodeKind::infiniband}) {
        const int pods = for_each_pod(kind, [&](const PodManifest& manifest, const Manifests& all) {
            const NetworkAttachmentDefinition& network = all.network(manifest.networks.at(0).key);
            const std::string config = replaced(network.config, "\"attach\"", "\"strict\": true, \"attach\"");
            const ProcessResult result =
                run_process({binary(), "plan", "--name", network.name, "--device", "ffff:ff:1f.7"}, {.input = config});
            CHECK(result.exit_status == 1);
            CHECK_THAT(result.err, Names("rdmanet", place_of(config)));
        });
        CHECK(pods >= 1);
    }
}

TEST_CASE("both sides of a documented change of a configuration are JSON, and the second side is for rdmanet",
          "[examples][readme]") {
    for (const Markdown& document : documents())
        for (const CodeBlock& block : document.blocks) {
            if (block.language != "diff") continue;
            INFO(document.file << ": " << block.section);
            CHECK_NOTHROW(json::Document::parse(side_of(block, '-')));
            const json::Document after = json::Document::parse(side_of(block, '+'));
            CHECK(our_entry(after).at("type").string() == "rdmanet");
        }
}

TEST_CASE("every documented block of code has a language that a test knows", "[examples][readme]") {
    const std::set<std::string> tried{"indented", "sh", "json", "yaml", "diff", "text", "table"};
    for (const Markdown& document : documents())
        for (const CodeBlock& block : document.blocks) {
            INFO(document.file << ": " << block.section);
            CHECK((tried.contains(block.language) || block.language == "mermaid"));
        }
}

TEST_CASE("the documented plan works on a node with a default route", "[examples][readme]") {
    const Stage stage;
    const CheckedNode node;
    shell("ip route add default dev par0");
    int plans = 0;
    for (const Markdown& document : documents())
        for (const CodeBlock& block : document.blocks)
            for (const std::string& line : lines_of(block.text)) {
                if (!is_commands(block) || line.find("| rdmanet plan") == std::string::npos) continue;
                ++plans;
                CHECK_THAT(shell(concat("PATH=", fs::path(binary()).parent_path().string(), ":$PATH; ", line)),
                           Names("network \"try\"", "par0"));
            }
    CHECK(plans == 1);
    shell("ip route del default dev par0");
}

TEST_CASE("the documented calls by hand attach a namespace and detach it", "[examples][readme]") {
    const Stage stage;
    const CheckedNode node;
    shell("ip route add default dev par0");
    int calls = 0;
    for (const Markdown& document : documents())
        for (const CodeBlock& block : document.blocks) {
            if (!is_commands(block) || block.text.find("CNI_COMMAND=ADD") == std::string::npos) continue;
            ++calls;
            const std::string path = concat("PATH=", fs::path(binary()).parent_path().string(), ":$PATH");
            CHECK(value(shell(concat("set -e; ", path, '\n', block.text)), "interfaces.0.name") == "net1");
        }
    CHECK(calls == 1);
    shell("ip route del default dev par0");
}

TEST_CASE("the examples configure the documented resources", "[examples][readme]") {
    Manifests configured;
    for (const char* file :
         {"sriov-device-plugin.yaml", "sriov-network-node-policy.yaml", "rdma-shared-device-plugin.yaml"})
        read_manifests(source_text(concat("conf-examples/", file)), configured);
    std::set<std::string> resources;
    for (const FunctionResource& function : configured.function_resources) resources.insert(function.name);
    for (const DeviceResource& device : configured.resources) resources.insert(device.name);
    int asked = 0;
    for (const Markdown& document : documents()) {
        const Manifests all = manifests_of(document);
        for (const NetworkAttachmentDefinition& network : all.networks)
            if (!network.resource.empty()) CHECK(resources.contains(network.resource));
        for (const PodManifest& pod : all.pods)
            for (const auto& [resource, count] : pod.resources) {
                ++asked;
                CHECK(resources.contains(resource));
                CHECK(pod.every_container_locks_memory);
            }
    }
    CHECK(asked >= 2);
}

} // namespace rdmanet::test
