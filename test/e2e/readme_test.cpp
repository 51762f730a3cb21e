// What the documentation says, held against the binary, the sources and a real kernel.
#include "attachment_stage.hpp"
#include "example_node.hpp"
#include "example_pod.hpp"
#include "markdown.hpp"
#include "support/reporter.hpp"

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

const char* const kDocuments[] = {"README.md",
                                  "ARCHITECTURE.md",
                                  "CONTRIBUTING.md",
                                  "conf-examples/README.md",
                                  "docs/migration.md",
                                  "netns-harness/README.md",
                                  "netns-harness/simrnic/README.md"};

std::string example() {
    return source_text("conf-examples/roce-macvlan.json");
}

/// The configuration of the README with other or more members, as written in JSON with single quotes.
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

/// The configurations and pods of a section.
Manifests manifests_of(const std::string& section) {
    Manifests all;
    for (const CodeBlock& block : read_markdown("README.md").blocks)
        if (block.section == section && block.language == "yaml") read_manifests(block.text, all);
    return all;
}

const char* const kVfSection = "A VF for each pod";

/// The configuration of a VF's network as Multus hands it on.
std::string vf_config(const Manifests& all, const std::string& vf) {
    const std::string config = all.networks.at(0).config;
    return concat("{\"name\":\"", all.networks.at(0).name, "\",\"deviceID\":\"", vf, "\",",
                  config.substr(config.find('{') + 1));
}

/// The lines of a section, each with those that are indented below it.
std::vector<std::string> quotes_in(const std::string& section) {
    std::vector<std::string> quotes;
    for (const std::string& line : read_markdown("README.md").lines_of(section))
        if (line.starts_with("    "))
            quotes.back() += line.substr(3);
        else
            quotes.push_back(line);
    return quotes;
}

/// The PCI address of a VF here, and of the README's.
std::string with_documented_vf(std::string message, const std::string& vf) {
    return message.replace(message.find(vf), vf.size(), "0000:3b:00.2");
}

/// The keys of the tables whose first column's title is `title`.
std::set<std::string> keys_of(const Markdown& readme, const std::string& title) {
    std::set<std::string> keys;
    for (const TableRow& row : readme.rows)
        if (row.header.at(0) == title)
            for (const std::string& key : code_spans(row.cells.at(0))) keys.insert(key);
    return keys;
}

std::set<std::string> set_of_matches(const std::string& text, const std::string& expression) {
    const std::vector<std::string> found = matches(text, expression);
    return {found.begin(), found.end()};
}

/// What a list of known keys in the sources has: whatever is in none of them is warned of.
std::set<std::string> listed_keys(const std::string& file, const std::string& list) {
    const std::string text = source_text(file);
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

/// The program of a line of shell, without variables set for it and without what follows it.
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

} // namespace

TEST_CASE("the README's configurations give a pod its addresses and GIDs", "[examples][readme]") {
    NEEDS(ExampleNode::lacks().empty(), ExampleNode::lacks());
    const ExampleNode node;
    Manifests all = manifests_of("On a node");
    int configurations = 0;
    for (const CodeBlock& block : read_markdown("README.md").blocks) {
        if (block.language == "yaml") CHECK((block.section == "On a node" || block.section == kVfSection));
        if (block.language != "json") continue;
        ++configurations;
        all.networks.push_back({.key = concat("json/", configurations), .name = "json", .config = block.text});
        all.pods.push_back({.pod_namespace = "json",
                            .name = concat("pod", configurations),
                            .networks = {{.key = all.networks.back().key, .ifname = "net1"}}});
        CHECK(json::Document::parse(block.text).to_text() == json::Document::parse(example()).to_text());
    }
    CHECK(configurations == 1);
    CHECK(all.pods.size() == 2);
    for (const CodeBlock& block : read_markdown("README.md").blocks)
        if (block.section == "On a node" && block.language != "indented")
            CHECK_THAT(run_process({binary(), "plan", "--name", "roce"}, {.input = block.text}).out,
                       Contains("\n  make interface \"net1\" in the pod: macvlan mode bridge on parent \"eth1\"") &&
                           Contains("  share port 1 of RDMA device \"mlx5_0\", which stays on the host\n"));
    for (const PodManifest& manifest : all.pods) {
        INFO(manifest.name);
        const RunningPod pod(manifest, all);
        CHECK_THAT(addresses(pod.result(0)), StartsWith("192.168.100."));
        CHECK(addresses_without_gid(pod.result(0), "mlx5_0", "net1") == "");
        CHECK(pod.check() == "");
        CHECK(pod.del() == "");
    }
    CHECK(node.difference() == "");
}

TEST_CASE("the README's plan works on a node with a default route, and reads the README's manifests",
          "[examples][readme]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const UnchangedNode node;
    shell("ip route add default dev par0");
    int plans = 0;
    for (const std::string& line : read_markdown("README.md").lines_of("On a node")) {
        if (line.find("| rdmanet plan") == std::string::npos) continue;
        ++plans;
        CHECK_THAT(shell(concat("PATH=", fs::path(binary()).parent_path().string(), ":$PATH; ", line)),
                   Contains("ADD of network \"try\"") && Contains(" on parent \"par0\""));
    }
    CHECK(plans == 1);
    shell("ip route del default dev par0");
    for (const CodeBlock& block : read_markdown("README.md").blocks)
        if (block.section == "On a node" && block.language == "yaml")
            CHECK_THAT(run_process({binary(), "plan"}, {.input = block.text}).err,
                       StartsWith("rdmanet: master \"eth1\" is neither an interface nor an RDMA device here: "));
    CHECK(node.difference() == "");
}

TEST_CASE("the README's VF goes into the pod with its RDMA device", "[examples][readme][sriov]") {
    NEEDS(ExclusiveExampleNode::lacks().empty(), ExclusiveExampleNode::lacks());
    const ExclusiveExampleNode node;
    const Manifests all = manifests_of(kVfSection);
    const PodManifest manifest = all.pod("trainer");
    CHECK(all.pods.size() == 1);
    CHECK(all.networks.size() == 1);
    CHECK(manifest.resources == std::map<std::string, unsigned>{{all.networks.at(0).resource, 1}});
    {
        const RunningPod pod(manifest, all, node.vfs());
        CHECK(addresses(pod.result(0)) == "192.168.150.1/24");
        CHECK(addresses_without_gid(pod.pod(), pod.result(0)) == "");
        CHECK(failure_of(pod.pod(), "rdma link | grep 'netdev net1'") == "");
        CHECK(succeeds("ip link show eth1 | grep 'vf 0 .* vlan 100'"));
        CHECK(pod.check() == "");
        CHECK(pod.del() == "");
    }
    CHECK(node.difference() == "");
}

TEST_CASE("the README's resource is the one that the examples configure", "[examples][readme]") {
    Manifests configured;
    for (const char* file : {"sriov-device-plugin.yaml", "sriov-network-node-policy.yaml"})
        read_manifests(source_text(concat("conf-examples/", file)), configured);
    const std::string resource = manifests_of(kVfSection).networks.at(0).resource;
    std::set<std::string> from;
    for (const FunctionResource& function : configured.function_resources)
        if (function.name == resource) from.insert(function.from);
    CHECK(from == std::set<std::string>{"ConfigMap", "SriovNetworkNodePolicy"});
}

TEST_CASE("the README quotes errors as they are", "[examples][readme][sriov]") {
    NEEDS(ExclusiveExampleNode::lacks().empty(), ExclusiveExampleNode::lacks());
    const Manifests all = manifests_of(kVfSection);
    std::vector<std::string> messages;
    std::string of_another_pods_vf;
    {
        const ExclusiveExampleNode node;
        {
            const Pod pod("pod");
            messages.push_back(message_of(refusal(call_of(pod, example()))));
            const RunningPod owner(all.pod("trainer"), all, node.vfs());
            const std::string vf = node.vfs().front();
            of_another_pods_vf = with_documented_vf(message_of(refusal(call_of(pod, vf_config(all, vf)))), vf);
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
    messages.push_back(message_of(refusal(call_of(pod, example()))));
    shell("ip link set eth1 up");
    messages.push_back(message_of(refusal(call_of(pod, example_with("'mtu':9000")))));
    messages.push_back(message_of(refusal(call_of(pod, vf_config(all, vf)))));
    messages.push_back(of_another_pods_vf);
    CHECK(refused.difference() == "");
    CHECK(quotes_in("When something is wrong") == messages);
}

TEST_CASE("the state directory moves with RDMANET_STATE_DIR, as the README says", "[examples][readme]") {
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

TEST_CASE("the README's tables have the keys that the parser knows", "[examples][readme]") {
    const Markdown readme = read_markdown("README.md");
    const Pod pod("pod");
    std::set<std::string> documented = keys_of(readme, "key");
    for (const std::string& key : keys_of(readme, "key of `ipam`")) documented.insert("ipam." + key);
    for (const std::string& key : keys_of(readme, "key of a VF")) documented.insert("vf." + key);
    for (const std::string& key : keys_of(readme, "key of a whole function")) documented.insert("device." + key);
    CHECK(documented.size() > 30);
    for (const std::string& key : documented) {
        INFO(key);
        CHECK_THAT(message_of(refusal(call_of(pod, ill_typed(key)))), StartsWith(without_kind(key)));
    }

    std::set<std::string> known = listed_keys("src/config/known_keys.cpp", "kOurKeys");
    for (const std::string& key : listed_keys("src/config/known_keys.cpp", "kRdmaKeys")) known.insert("rdma." + key);
    for (const std::string& key : listed_keys("src/config/known_keys.cpp", "kVfKeys")) known.insert("vf." + key);
    for (const std::string& key : listed_keys("src/config/known_keys.cpp", "kHostDeviceKeys"))
        known.insert("device." + key);
    for (const std::string& key : listed_keys("src/ipam/known_keys.cpp", "kUsed"))
        if (key != "type") known.insert("ipam." + key);
    CHECK(documented == known);
}

TEST_CASE("the README's licences are of every library that the binary is built from", "[examples][readme]") {
    const std::string build = source_text("CMakeLists.txt");
    const std::string readme = source_text("README.md");
    const std::string licences = readme.substr(readme.find("\nLicence: "));
    std::set<std::string> libraries = set_of_matches(build, R"rx(find_package\((\w*[^3 ])3? )rx");
    libraries.merge(set_of_matches(build, R"rx(IMPORTED_TARGET ([a-z-]*[a-z]))rx"));
    for (const char* not_in_it : {"PkgConfig", "Catch2"}) CHECK(libraries.erase(not_in_it) == 1);
    CHECK(libraries.size() == 5);
    for (std::string library : libraries) {
        INFO(library);
        std::replace(library.begin(), library.end(), '_', '/');
        CHECK_THAT(licences, Contains(library + " ("));
    }
}

TEST_CASE("the README's subcommands and options work", "[examples][readme]") {
    const Markdown readme = read_markdown("README.md");
    const auto is_option = [](const std::string& span) { return span.starts_with("--"); };
    std::set<std::string> options;
    std::copy_if(readme.spans.begin(), readme.spans.end(), std::inserter(options, options.end()), is_option);
    CHECK(options == std::set<std::string>{"--device", "--dry-run", "--json", "--name", "--netns", "--prev-result"});
    const std::string help = shell(concat(binary(), " plan --help && ", binary(), " gc --help"));
    for (const std::string& option : options) CHECK_THAT(help, Contains(concat(option, ' ')));
    int commands = 0;
    for (const std::string& span : readme.spans) {
        if (!span.starts_with("rdmanet ")) continue;
        ++commands;
        INFO(span);
        CHECK(succeeds(concat(binary(), ' ', span.substr(8))));
        CHECK(succeeds(concat(binary(), ' ', span.substr(8), " --json | jq -e type")));
    }
    CHECK(commands >= 2);
    CHECK(succeeds(concat(binary(), " gc --dry-run")));
}

TEST_CASE("files, links, presets and commands that the documentation names are there", "[examples][readme]") {
    const std::string presets = source_text("CMakePresets.json");
    for (const char* file : kDocuments) {
        INFO(file);
        const Markdown markdown = read_markdown(file);
        for (const std::string& link : markdown.links) {
            INFO(link);
            CHECK(fs::exists(source_path(link)));
        }
        for (const CodeBlock& block : markdown.blocks) {
            if (block.language == "json" || block.language == "yaml") continue;
            std::istringstream stream(block.text);
            for (std::string line; std::getline(stream, line);)
                for (const std::string& word : words_of(line)) {
                    INFO(word);
                    if (is_path_of_ours(word)) CHECK(exists(word));
                }
        }
        for (const std::string& preset : set_of_matches(source_text(file), R"rx(--preset (\w+))rx")) {
            INFO(preset);
            CHECK(presets.find(concat("\"name\": \"", preset, '"')) != std::string::npos);
        }
    }
    for (const std::string& line : read_markdown("README.md").lines_of("Two commands"))
        CHECK(::access(source_path(words_of(line).front()).c_str(), X_OK) == 0);
}

} // namespace rdmanet::test
