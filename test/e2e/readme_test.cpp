// What README and docs/ say, held against the binary, the sources and a real kernel. Nothing here knows a page or a
// section: what is found anywhere is tried, so that documents may be restructured.
#include "attachment_stage.hpp"
#include "example_node.hpp"
#include "example_pod.hpp"
#include "markdown.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <rdmanet/base/file.hpp>

#include <catch2/catch.hpp>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

namespace rdmanet::test {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
namespace fs = std::filesystem;

namespace {

/// Those of other readers; of their links and commands the same is true.
const char* const kMoreDocuments[] = {
    "ARCHITECTURE.md",         "CONTRIBUTING.md",         "CHANGELOG.md",
    "conf-examples/README.md", "netns-harness/README.md", "netns-harness/simrnic/README.md"};

std::string example() {
    return source_text("conf-examples/roce-macvlan.json");
}

/// The example with other or more members, as written in JSON with single quotes.
std::string example_with(const std::string& members) {
    return concat(example().substr(0, example().rfind('}')), ',', json_text(members), '}');
}

PluginCall call_of(const Pod& pod, const std::string& config) {
    PluginCall call;
    call.netns = pod.path();
    call.config = config;
    return call;
}

/// Without "code N: ".
std::string message_of(const std::string& refusal) {
    return refusal.substr(refusal.find(": ") + 2);
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

bool is_commands(const CodeBlock& block) {
    return block.language == "indented" || block.language == "sh" || block.language.empty();
}

/// A side of a block of the language "diff": '-' before, '+' after.
std::string side_of(const CodeBlock& block, char side) {
    std::string text;
    for (const std::string& line : lines_of(block.text))
        if (line.starts_with(' ') || line.starts_with(side)) text += concat(line.substr(1), '\n');
    return text;
}

// ---- networks and pods

enum class NodeKind : std::uint8_t { shared, exclusive, infiniband };

/// The entry of ours in a configuration or a list.
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

/// The networks and pods of a document. A network without a pod of its own gets one.
Manifests manifests_of(const Markdown& document) {
    Manifests all;
    int configurations = 0;
    const auto add_configuration = [&](const std::string& text) {
        const json::Document config = json::Document::parse(text);
        const auto name = config.root().find("name");
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

/// Calls `act` with each documented pod whose first network is for such a node, and with the objects of its document.
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

/// The documented network of that name, and the pod on it.
const PodManifest& pod_on(const std::string& network, const Manifests& all) {
    for (const PodManifest& pod : all.pods)
        if (pod.networks.at(0).key == network) return pod;
    throw base::Error(concat("no documented pod on ", network));
}

/// Of the README, which the quoted errors are about.
const char* const kVfNetwork = "default/roce-vf";

/// The configuration of a VF's network as Multus hands it on.
std::string vf_config(const Manifests& all, const std::string& vf) {
    const NetworkAttachmentDefinition& network = all.network(kVfNetwork);
    return concat("{\"name\":\"", network.name, "\",\"deviceID\":\"", vf, "\",",
                  network.config.substr(network.config.find('{') + 1));
}

/// The PCI address of a VF here, and of the documents.
std::string with_documented_vf(std::string message, const std::string& vf) {
    return message.replace(message.find(vf), vf.size(), "0000:3b:00.2");
}

/// Lines of blocks of the language "text", each with those that are indented below it.
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

// ---- keys, messages, commands

/// The keys of the tables whose first column's title is `title`.
std::set<std::string> keys_of(const std::string& title) {
    std::set<std::string> keys;
    for (const Markdown& document : documents())
        for (const TableRow& row : document.rows)
            if (row.header.at(0) == title)
                for (const std::string& key : code_spans(row.cells.at(0))) keys.insert(key);
    return keys;
}

/// All of them, as messages name them but for what kind of device has them: "rdma.mode", "ipam.range", "vf.vlan".
std::set<std::string> documented_keys() {
    std::set<std::string> documented = keys_of("key");
    for (const std::string& key : keys_of("key of `ipam`")) documented.insert("ipam." + key);
    for (const std::string& key : keys_of("key of a VF")) documented.insert("vf." + key);
    for (const std::string& key : keys_of("key of a whole function")) documented.insert("device." + key);
    return documented;
}

std::set<std::string> set_of_matches(const std::string& text, const std::string& expression) {
    const std::vector<std::string> found = matches(text, expression);
    return {found.begin(), found.end()};
}

/// The file of the sources with that name: only its contents matter here.
std::string find_source(const std::string& room, const std::string& name) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(source_path("src")))
        if (entry.path().filename() == name && entry.path().string().find(concat("/src/", room)) != std::string::npos)
            found.push_back(entry.path());
    REQUIRE(found.size() == 1);
    return base::read_file(found.front(), 1 << 20);
}

/// What a list of known keys in the sources has: whatever is in none of them is warned of.
std::set<std::string> listed_keys(const std::string& text, const std::string& list) {
    const std::size_t begin = text.find(concat(list, "[] = {"));
    REQUIRE(begin != std::string::npos);
    return set_of_matches(text.substr(begin, text.find("};\n", begin) - begin), R"rx(\{"(\w+)"\})rx");
}

/// A key as messages name it: "vf.vlan" is "vlan" there, "ipam.range" is itself.
std::string without_kind(const std::string& key) {
    return key.starts_with("vf.") || key.starts_with("device.") ? key.substr(key.find('.') + 1) : key;
}

/// The configuration in which `key` ("mtu", "rdma.mode", "ipam.range") has a value that suits none.
std::string ill_typed(const std::string& key) {
    if (key.starts_with("ipam."))
        return example_with(concat("'ipam':{'type':'rdmanet','range':'192.168.100.0/24','", key.substr(5), "':[7]}"));
    if (key.starts_with("rdma.")) return example_with(concat("'rdma':{'", key.substr(5), "':[7]}"));
    if (key.starts_with("device."))
        return json_text(concat("{'cniVersion':'1.1.0','name':'n','type':'rdmanet','attach':'host-device','",
                                key.substr(7), "':[7]}"));
    if (key.starts_with("vf."))
        return json_text(concat("{'cniVersion':'1.1.0','name':'n','type':'rdmanet','attach':'sriov','vlan':1,'",
                                key.substr(3), "':[7]}"));
    return example_with(concat('\'', key, "':[7]"));
}

void expect_known_keys(const json::Reader& object, const std::set<std::string>& known) {
    for (const auto& [key, value] : object.members()) {
        INFO(key);
        CHECK(known.contains(key));
        if (value.is_object()) expect_known_keys(value, known);
    }
}

/// The text of all C++ sources of a folder, with strings that are written in parts put together.
std::string texts_of_sources(const std::string& folder) {
    std::string texts;
    for (const auto& entry : fs::recursive_directory_iterator(source_path(folder)))
        if (entry.path().extension() == ".cpp" || entry.path().extension() == ".hpp")
            texts += base::read_file(entry.path(), 1 << 20);
    std::string joined;
    for (std::size_t at = 0; at < texts.size(); ++at) {
        if (texts[at] == '"') {
            const std::size_t next = texts.find_first_not_of(" \n", at + 1);
            if (next != std::string::npos && next > at + 1 && texts[next] == '"' && texts[at - 1] != '\\') {
                at = next;
                continue;
            }
        }
        joined += texts[at];
    }
    return replaced(joined, "\\\"", "\"");
}

/// "a ... b" is "a" and "b": the program puts something in between, with quotes and blanks around it.
std::vector<std::string> parts_of(const std::string& message) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= message.size();) {
        const std::size_t end = std::min(message.find("...", at), message.size());
        const std::string part = message.substr(at, end - at);
        const std::size_t first = part.find_first_not_of("\" ");
        if (first != std::string::npos) parts.push_back(part.substr(first, part.find_last_not_of("\" ") - first + 1));
        at = end + 3;
    }
    return parts;
}

/// The words of a line of shell, without a comment.
std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> words;
    std::istringstream stream(line.substr(0, line.find(" #")));
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

bool is_path_of_ours(const std::string& word) {
    return !matches(word, "^[a-z][A-Za-z0-9_.-]*(/[A-Za-z0-9_.-]+)+$").empty();
}

/// The tree that this program was built in.
fs::path build_tree() {
    return fs::read_symlink("/proc/self/exe").parent_path().parent_path().parent_path();
}

/// "build/PRESET/..." is looked for in the tree at hand: one preset's tree looks like another's.
bool exists(const std::string& path) {
    if (!path.starts_with("build/")) return fs::exists(source_path(path));
    return fs::exists(build_tree() / path.substr(path.find('/', 6) + 1)) ||
           fs::exists((build_tree() / path.substr(path.find('/', 6) + 1)).parent_path() / "cmake_install.cmake");
}

/// How GitHub names a heading in a link.
std::string anchor_of(const std::string& heading) {
    std::string anchor;
    for (const char letter : heading)
        if (std::isalnum(static_cast<unsigned char>(letter)) != 0)
            anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
        else if (letter == ' ' || letter == '-')
            anchor += '-';
    return anchor;
}

bool has_section(const std::string& file, const std::string& anchor) {
    const std::vector<std::string> sections = read_markdown(file).sections;
    return std::any_of(sections.begin(), sections.end(),
                       [&](const std::string& section) { return anchor_of(section) == anchor; });
}

/// A command with its options and nothing that stands for something else.
bool is_complete(const std::vector<std::string>& words) {
    return std::all_of(words.begin() + 2, words.end(), [](const std::string& word) { return word.starts_with("--"); });
}

void expect_known(const std::vector<std::string>& words) {
    const std::string help = shell(concat(binary(), " help ", words.at(1)));
    for (const std::string& word : words)
        if (word.starts_with("--")) CHECK_THAT(help, Contains(concat(word, ' ')));
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

TEST_CASE("the documented networks with a device for each pod move it with its RDMA device",
          "[examples][readme][sriov]") {
    NEEDS(ExclusiveExampleNode::lacks().empty(), ExclusiveExampleNode::lacks());
    const ExclusiveExampleNode node;
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

// The kinds of network are run by the examples; here the documents' own configurations are read by the binary.
TEST_CASE("the documented networks of InfiniBand are understood", "[examples][readme]") {
    const int pods = for_each_pod(NodeKind::infiniband, [&](const PodManifest& manifest, const Manifests& all) {
        const NetworkAttachmentDefinition& network = all.network(manifest.networks.at(0).key);
        const ProcessResult result =
            run_process({binary(), "plan", "--name", network.name, "--device", "ffff:ff:1f.7"},
                        {.input = concat(network.config.substr(0, network.config.rfind('}')), ",\"strict\":true}")});
        CHECK_THAT(result.err, Names("rdmanet: master", "ibs1") || Names("rdmanet: device", "ffff:ff:1f.7"));
    });
    CHECK(pods >= 1);
}

TEST_CASE("both sides of a documented change of a configuration are JSON, and the second is ours",
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

TEST_CASE("every documented block of code is of a language that a test knows", "[examples][readme]") {
    const std::set<std::string> tried{"indented", "sh", "json", "yaml", "diff", "text"};
    for (const Markdown& document : documents())
        for (const CodeBlock& block : document.blocks) {
            INFO(document.file << ": " << block.section);
            CHECK((tried.contains(block.language) || block.language == "mermaid"));
        }
}

TEST_CASE("the documented plan works on a node with a default route", "[examples][readme]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const UnchangedNode node;
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
    CHECK(node.difference() == "");
}

TEST_CASE("the documented calls by hand attach a namespace and detach it", "[examples][readme]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const UnchangedNode node;
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
    CHECK(node.difference() == "");
}

TEST_CASE("the documented resources are those that the examples configure", "[examples][readme]") {
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

TEST_CASE("errors are quoted as they are", "[examples][readme][sriov]") {
    NEEDS(ExclusiveExampleNode::lacks().empty(), ExclusiveExampleNode::lacks());
    const Manifests all = manifests_of(read_markdown("README.md"));
    std::set<std::string> messages;
    {
        const ExclusiveExampleNode node;
        {
            const Pod pod("pod");
            messages.insert(message_of(refusal(call_of(pod, example()))));
            const RunningPod owner(pod_on(kVfNetwork, all), all, node.vfs());
            const std::string vf = node.vfs().front();
            messages.insert(with_documented_vf(message_of(refusal(call_of(pod, vf_config(all, vf)))), vf));
            CHECK(owner.del() == "");
        }
        CHECK(node.difference() == "");
    }
    const VfNode vfs("shared", 1);
    const std::string vf = vfs.vf(0);
    const ExampleNode node;
    const Pod pod("pod");
    const UnchangedNode refused;
    shell("ip link set eth1 down");
    messages.insert(message_of(refusal(call_of(pod, example()))));
    shell("ip link set eth1 up");
    messages.insert(message_of(refusal(call_of(pod, example_with("'mtu':9000")))));
    messages.insert(message_of(refusal(call_of(pod, vf_config(all, vf)))));
    CHECK(refused.difference() == "");
    CHECK(quotes() == messages);
}

TEST_CASE("messages in the documents' tables are messages of the sources", "[examples][readme]") {
    const std::string sources = texts_of_sources("src") + texts_of_sources("cmd");
    int messages = 0;
    for (const Markdown& document : documents())
        for (const TableRow& row : document.rows)
            for (std::size_t column = 0; column < row.header.size(); ++column) {
                if (row.header[column] != "message") continue;
                for (const std::string& message : code_spans(row.cells.at(column))) {
                    INFO(document.file << ": " << message);
                    ++messages;
                    for (const std::string& part : parts_of(message)) {
                        INFO(part);
                        CHECK(sources.find(part) != std::string::npos);
                    }
                }
            }
    CHECK(messages >= 5);
}

TEST_CASE("the documented error codes are those of the sources", "[examples][readme]") {
    std::set<std::string> documented;
    for (const Markdown& document : documents())
        for (const TableRow& row : document.rows)
            if (row.header.at(0) == "code") documented.insert(row.cells.at(0));
    const std::string header = source_text("include/rdmanet/cni/error.hpp");
    const std::size_t begin = header.find("enum class ErrorCode");
    CHECK(documented == set_of_matches(header.substr(begin, header.find("};", begin) - begin), " = ([0-9]+),"));
}

TEST_CASE("the state directory moves with RDMANET_STATE_DIR", "[examples][readme]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const fs::path moved = "/tmp/rdmanet-moved";
    PluginCall call = call_for(stage.pod, "'master':'par0'");
    call.more_environment = {concat("RDMANET_STATE_DIR=", moved.string())};
    (void)add(call);
    CHECK_FALSE(fs::is_empty(moved / "attachments"));
    CHECK(del(call) == "");
    CHECK(fs::is_empty(moved / "attachments"));
    CHECK(stage.node.difference() == "");
    fs::remove_all(moved);
}

TEST_CASE("the documents' tables have the keys that the parser knows", "[examples][readme]") {
    const Pod pod("pod");
    const std::set<std::string> documented = documented_keys();
    CHECK(documented.size() > 30);
    for (const std::string& key : documented) {
        INFO(key);
        CHECK_THAT(message_of(refusal(call_of(pod, ill_typed(key)))), StartsWith(without_kind(key)));
    }

    const std::string of_networks = find_source("config", "known_keys.cpp");
    std::set<std::string> known = listed_keys(of_networks, "kOurKeys");
    for (const std::string& key : listed_keys(of_networks, "kRdmaKeys")) known.insert("rdma." + key);
    for (const std::string& key : listed_keys(find_source("config", "vf_config.cpp"), "kVfKeys"))
        known.insert("vf." + key);
    for (const std::string& key : listed_keys(of_networks, "kHostDeviceKeys")) known.insert("device." + key);
    for (const std::string& key : listed_keys(find_source("ipam", "known_keys.cpp"), "kUsed"))
        if (key != "type") known.insert("ipam." + key);
    CHECK(documented == known);
}

TEST_CASE("keys and values in the documents' sentences are JSON, and their keys exist", "[examples][readme]") {
    std::set<std::string> known{"type", "cniVersion", "isRdma",        "plugins", "deviceID", "CNIDeviceInfoFile",
                                "ips",  "mac",        "infinibandGUID"};
    for (const std::string& key : documented_keys()) known.insert(key.substr(key.rfind('.') + 1));
    int members = 0;
    for (const Markdown& document : documents())
        for (const std::string& span : document.spans) {
            if (!span.starts_with('"') || span.find("\":") == std::string::npos) continue;
            INFO(document.file << ": " << span);
            ++members;
            const json::Document parsed = json::Document::parse(concat('{', span, '}'));
            expect_known_keys(parsed.root(), known);
        }
    CHECK(members > 5);
}

TEST_CASE("the licences are of every library that the binary is built from", "[examples][readme]") {
    const std::string build = source_text("CMakeLists.txt");
    const std::string readme = source_text("README.md");
    const std::string licences = readme.substr(readme.find("\nLicence: "));
    std::set<std::string> libraries = set_of_matches(build, R"rx(find_package\((\w*[^3 ])3? )rx");
    libraries.merge(set_of_matches(build, R"rx(IMPORTED_TARGET ([a-z-]*[a-z]))rx"));
    for (const char* not_in_it : {"PkgConfig", "Catch2"}) CHECK(libraries.erase(not_in_it) == 1);
    CHECK(libraries.size() == 6);
    for (std::string library : libraries) {
        INFO(library);
        std::replace(library.begin(), library.end(), '_', '/');
        CHECK_THAT(licences, Contains(library + " ("));
    }
}

TEST_CASE("the documented subcommands and options work", "[examples][readme]") {
    std::set<std::string> run;
    std::string help;
    for (const char* command : {"plan", "gc", "state", "check"}) help += shell(concat(binary(), " help ", command));
    for (const Markdown& document : documents())
        for (const std::string& span : document.spans) {
            INFO(document.file << ": " << span);
            if (span.starts_with("--")) CHECK_THAT(help, Contains(concat(words_of(span).front(), ' ')));
            const std::vector<std::string> words = words_of(span);
            if (!span.starts_with("rdmanet ") || words.size() < 2) continue;
            expect_known(words);
            if (!is_complete(words) || words.at(1) == "plan" || !run.insert(span).second) continue;
            CHECK(succeeds(concat(binary(), span.substr(7))));
            if (words.at(1) != "version") CHECK(succeeds(concat(binary(), span.substr(7), " --json | jq -e type")));
        }
    CHECK(run.size() >= 3);
    CHECK(succeeds(concat(binary(), " gc --dry-run")));
}

TEST_CASE("files, links, presets and commands that the documentation names are there", "[examples][readme]") {
    const std::string presets = source_text("CMakePresets.json");
    std::vector<Markdown> all = documents();
    for (const char* file : kMoreDocuments) all.push_back(read_markdown(file));
    for (const Markdown& markdown : all) {
        INFO(markdown.file);
        for (const Link& link : markdown.links) {
            INFO(link.file << '#' << link.anchor);
            CHECK(fs::exists(source_path(link.file)));
            if (!link.anchor.empty()) CHECK(has_section(link.file, link.anchor));
        }
        for (const CodeBlock& block : markdown.blocks) {
            if (!is_commands(block)) continue;
            for (const std::string& line : lines_of(block.text)) {
                const std::vector<std::string> words = words_of(line);
                for (const std::string& word : words) {
                    INFO(word);
                    if (is_path_of_ours(word)) CHECK(exists(word));
                }
                if (!words.empty() && is_path_of_ours(words.front()) && !words.front().starts_with("build/"))
                    CHECK(::access(source_path(words.front()).c_str(), X_OK) == 0);
            }
        }
        for (const std::string& preset : set_of_matches(source_text(markdown.file), R"rx(--preset (\w+))rx")) {
            INFO(preset);
            CHECK(presets.find(concat("\"name\": \"", preset, '"')) != std::string::npos);
        }
    }
}

TEST_CASE("the README fits on a few screens", "[examples][readme]") {
    CHECK(lines_of(source_text("README.md")).size() <= 150);
}

} // namespace rdmanet::test
