// Compares the keys, messages, commands and links of README and docs/ with the binary and the sources. The test knows
// no page or section, so that documents can be restructured.
#include "documented.hpp"
#include "support/concat.hpp"

#include <rdmanet/base/file.hpp>

#include <catch2/catch.hpp>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

namespace rdmanet::test {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
namespace fs = std::filesystem;

namespace {

/// Documents for other readers. Their links and commands must be right too.
const char* const kMoreDocuments[] = {
    "ARCHITECTURE.md",         "CONTRIBUTING.md",         "CHANGELOG.md",
    "conf-examples/README.md", "netns-harness/README.md", "netns-harness/simrnic/README.md"};

/// The keys of the tables whose first column's title is `title`.
std::set<std::string> keys_of(const std::string& title) {
    std::set<std::string> keys;
    for (const Markdown& document : documents())
        for (const TableRow& row : document.rows)
            if (row.header.at(0) == title)
                for (const std::string& key : code_spans(row.cells.at(0))) keys.insert(key);
    return keys;
}

/// All documented keys. Keys of a device have its kind in front: "rdma.mode", "ipam.range", "vf.vlan".
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

/// The contents of the source file with that name.
std::string find_source(const std::string& module, const std::string& name) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(source_path("src")))
        if (entry.path().filename() == name && entry.path().string().find(concat("/src/", module)) != std::string::npos)
            found.push_back(entry.path());
    REQUIRE(found.size() == 1);
    return base::read_file(found.front(), 1 << 20);
}

/// The keys of a list in the sources. A key that is in no list produces a warning.
std::set<std::string> listed_keys(const std::string& text, const std::string& list) {
    const std::size_t begin = text.find(concat(list, "[] = {"));
    REQUIRE(begin != std::string::npos);
    return set_of_matches(text.substr(begin, text.find("};\n", begin) - begin), R"rx(\{"(\w+)"\})rx");
}

/// A key as messages name it: "vf.vlan" becomes "vlan", "ipam.range" stays.
std::string without_kind(const std::string& key) {
    return key.starts_with("vf.") || key.starts_with("device.") ? key.substr(key.find('.') + 1) : key;
}

/// A configuration in which `key` ("mtu", "rdma.mode", "ipam.range") has a value of a wrong type.
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

/// The text of all C++ sources of a folder. Adjacent string literals are joined.
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

/// "a ... b" becomes "a" and "b": the program puts something between them, with quotes and blanks around it.
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

/// The build tree of this program.
fs::path build_tree() {
    return fs::read_symlink("/proc/self/exe").parent_path().parent_path().parent_path();
}

/// Looks for "build/PRESET/..." in this program's tree, because all presets' trees have the same layout.
bool exists(const std::string& path) {
    if (!path.starts_with("build/")) return fs::exists(source_path(path));
    return fs::exists(build_tree() / path.substr(path.find('/', 6) + 1)) ||
           fs::exists((build_tree() / path.substr(path.find('/', 6) + 1)).parent_path() / "cmake_install.cmake");
}

/// GitHub's anchor for a heading.
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

/// Whether a command has only options, and no placeholder.
bool is_complete(const std::vector<std::string>& words) {
    return std::all_of(words.begin() + 2, words.end(), [](const std::string& word) { return word.starts_with("--"); });
}

void expect_known(const std::vector<std::string>& words) {
    const bool is_nested = words.at(1) == "ipam" && words.size() > 2;
    const std::string help =
        shell(is_nested ? concat(binary(), " ipam ", words.at(2), " --help") : concat(binary(), " help ", words.at(1)));
    for (const std::string& word : words)
        if (word.starts_with("--")) CHECK_THAT(help, Contains(concat(word, ' ')));
}

} // namespace

TEST_CASE("messages in the documents' tables are in the sources", "[examples][readme]") {
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

TEST_CASE("the documented error codes are the sources' codes", "[examples][readme]") {
    std::set<std::string> documented;
    for (const Markdown& document : documents())
        for (const TableRow& row : document.rows)
            if (row.header.at(0) == "code") documented.insert(row.cells.at(0));
    const std::string header = source_text("include/rdmanet/cni/error.hpp");
    const std::size_t begin = header.find("enum class ErrorCode");
    CHECK(documented == set_of_matches(header.substr(begin, header.find("};", begin) - begin), " = ([0-9]+),"));
}

TEST_CASE("the state directory moves with RDMANET_STATE_DIR", "[examples][readme]") {
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

    const std::string of_ipam = find_source("ipam", "config.cpp");
    std::set<std::string> of_kubernetes;
    for (const std::string& setting : keys_of("setting"))
        if (setting.starts_with("kubernetes.")) of_kubernetes.insert(setting.substr(setting.find('.') + 1));
    CHECK(of_kubernetes == listed_keys(of_ipam, "kKubernetesKeys"));

    const std::string of_networks = find_source("config", "known_keys.cpp");
    std::set<std::string> known = listed_keys(of_networks, "kOurKeys");
    for (const std::string& key : listed_keys(of_networks, "kRdmaKeys")) known.insert("rdma." + key);
    for (const std::string& key : listed_keys(find_source("config", "vf_config.cpp"), "kVfKeys"))
        known.insert("vf." + key);
    for (const std::string& key : listed_keys(of_networks, "kHostDeviceKeys")) known.insert("device." + key);
    for (const std::string& key : listed_keys(of_ipam, "kUsed"))
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

TEST_CASE("the licences cover every library that the binary is built from", "[examples][readme]") {
    const std::string build = source_text("CMakeLists.txt");
    const std::string readme = source_text("README.md");
    const std::string licences = readme.substr(readme.find("\nLicence: "));
    std::set<std::string> libraries = set_of_matches(build, R"rx(find_package\((\w*[^3 ])3? )rx");
    libraries.merge(set_of_matches(build, R"rx(IMPORTED_TARGET ([a-z-]*[a-z]2?))rx"));
    for (const char* not_in_it : {"PkgConfig", "Catch2"}) CHECK(libraries.erase(not_in_it) == 1);
    CHECK(libraries.size() == 9);
    for (std::string library : libraries) {
        INFO(library);
        std::replace(library.begin(), library.end(), '_', '/');
        CHECK_THAT(licences, Contains(library + " ("));
    }
}

TEST_CASE("the documented subcommands and options work", "[examples][readme]") {
    std::set<std::string> run;
    std::string help;
    for (const char* command : {"plan", "gc", "state", "check", "doctor", "inventory", "verify", "ipam show",
                                "ipam check", "ipam release", "ipam reconcile"})
        help += shell(concat(binary(), ' ', command, " --help"));
    for (const Markdown& document : documents())
        for (const std::string& span : document.spans) {
            INFO(document.file << ": " << span);
            if (span.starts_with("--")) CHECK_THAT(help, Contains(concat(words_of(span).front(), ' ')));
            const std::vector<std::string> words = words_of(span);
            if (!span.starts_with("rdmanet ") || words.size() < 2) continue;
            if (words.at(1).starts_with("--")) {
                CHECK(succeeds(concat(binary(), span.substr(7))));
                continue;
            }
            expect_known(words);
            // plan needs a network, verify a pod, and the doctor's exit status is that of the node.
            if (!is_complete(words) || words.at(1) == "plan" || words.at(1) == "doctor" || words.at(1) == "verify")
                continue;
            if (!run.insert(span).second) continue;
            CHECK(succeeds(concat(binary(), span.substr(7))));
            if (words.at(1) != "version") CHECK(succeeds(concat(binary(), span.substr(7), " --json | jq -e type")));
        }
    CHECK(run.size() >= 3);
    CHECK(succeeds(concat(binary(), " gc --dry-run")));
}

TEST_CASE("files, links, presets and commands in the documentation exist", "[examples][readme]") {
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
