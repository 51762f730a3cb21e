// The only file that reads YAML. Plugin calls never reach it.
#include "network_file.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/json/reader.hpp>

#include <yaml-cpp/yaml.h>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmanet::cmd {
namespace {

constexpr std::size_t kLargestFile = std::size_t{16} << 20U; // as cni::read_configuration()
constexpr std::string_view kDefinition = "NetworkAttachmentDefinition";

struct Definition {
    std::string name;
    std::string name_space;
    std::string configuration;

    [[nodiscard]] std::string qualified() const { return fmt::format("{}/{}", name_space, name); }
    [[nodiscard]] bool is_called(const std::string& wanted) const { return wanted == name || wanted == qualified(); }
};

/// Empty if a part of the path is absent or is not a text.
std::string text_at(const YAML::Node& node, std::initializer_list<const char*> path) {
    YAML::Node at(node);
    for (const char* key : path) {
        if (!at.IsMap()) return {};
        const YAML::Node below = std::as_const(at)[key];
        if (!below) return {};
        at.reset(below);
    }
    return at.IsScalar() ? at.Scalar() : std::string();
}

/// The definitions in a file, and the kinds of its other objects.
struct Manifests {
    std::vector<Definition> definitions;
    std::vector<std::string> other_kinds;

    void take_document(const YAML::Node& document) {
        if (text_at(document, {"kind"}) != "List") return take_object(document);
        const YAML::Node items = document["items"]; // of `kubectl get ... -o yaml`
        if (items.IsSequence())
            for (const YAML::Node& item : items) take_object(item);
    }

    void take_object(const YAML::Node& object) {
        const std::string kind = text_at(object, {"kind"});
        if (kind == kDefinition) {
            const std::string name_space = text_at(object, {"metadata", "namespace"});
            definitions.push_back({.name = text_at(object, {"metadata", "name"}),
                                   .name_space = name_space.empty() ? "default" : name_space,
                                   .configuration = text_at(object, {"spec", "config"})});
        } else if (!kind.empty()) {
            other_kinds.push_back(kind);
        }
    }
};

Manifests read_manifests(const std::string& text) {
    try {
        Manifests manifests;
        for (const YAML::Node& document : YAML::LoadAll(text)) manifests.take_document(document);
        return manifests;
    } catch (const YAML::Exception& error) {
        if (error.mark.is_null()) throw base::Error(fmt::format("not valid YAML: {}", error.msg));
        throw base::Error(fmt::format("not valid YAML: line {}, column {}: {}", error.mark.line + 1,
                                      error.mark.column + 1, error.msg));
    }
}

/// Why the text is not a JSON document; nullopt if it is one.
std::optional<json::ParseError> json_error(const std::string& text) {
    try {
        (void)json::Document::parse(text);
        return std::nullopt;
    } catch (const json::ParseError& error) {
        return error;
    }
}

/// Whether the author meant JSON. YAML with several documents may also begin with a bracket.
bool is_meant_as_json(const std::string& text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos) return true;
    return (text[first] == '{' || text[first] == '[') && text.find("\n---") == std::string::npos;
}

bool is_configuration(const std::string& text) {
    const json::Document document = json::Document::parse(text);
    return !document.root().is_object() || !document.root().find("kind");
}

std::string names_of(const std::vector<Definition>& definitions) {
    return base::join(definitions, ", ", [](const Definition& each) { return base::quoted(each.qualified()); });
}

const Definition& choose(const std::vector<Definition>& definitions, const std::string& name) {
    if (name.empty()) {
        if (definitions.size() == 1) return definitions.front();
        throw base::Error(
            fmt::format("has {} networks, {}: choose one with --name", definitions.size(), names_of(definitions)));
    }
    const auto matches = [&](const Definition& each) { return each.is_called(name); };
    switch (std::ranges::count_if(definitions, matches)) {
    case 0:
        throw base::Error(fmt::format("has no {} {}, only {}", kDefinition, base::quoted(name), names_of(definitions)));
    case 1: return *std::ranges::find_if(definitions, matches);
    default:
        throw base::Error(fmt::format("has several networks {} among {}: give --name as NAMESPACE/NAME",
                                      base::quoted(name), names_of(definitions)));
    }
}

} // namespace

/// Input from a terminal has no deadline.
std::string read_input(const std::string& file) {
    if (file != "-") return base::read_file(file, kLargestFile);
    if (::isatty(STDIN_FILENO) != 0) return base::read_all(STDIN_FILENO, kLargestFile, "standard input");
    return cni::read_configuration(STDIN_FILENO);
}

std::string read_network_input(const std::string& file) {
    std::string text = read_input(file);
    if (text.find_first_not_of(" \t\r\n") == std::string::npos)
        throw json::ParseError(fmt::format("{} is empty: expected a network configuration", name_of(file)));
    return text;
}

std::string name_of(const std::string& file) {
    return file == "-" ? "standard input" : file;
}

NetworkText choose_network(std::string text, const std::string& name) {
    const auto error = json_error(text);
    if (error && is_meant_as_json(text)) throw json::ParseError(*error);
    if (!error && is_configuration(text)) return {.configuration = std::move(text)};
    const Manifests manifests = read_manifests(text);
    if (manifests.definitions.empty())
        throw base::Error(fmt::format("expected a network configuration (JSON) or a {} (YAML or JSON), found {}",
                                      kDefinition,
                                      manifests.other_kinds.empty() ? "neither" : base::join(manifests.other_kinds)));
    const Definition& chosen = choose(manifests.definitions, name);
    if (chosen.configuration.empty())
        throw base::Error(
            fmt::format("{} {} has no spec.config: Multus takes the list with that name from its confDir on the node, "
                        "/etc/cni/multus/net.d by default: run `rdmanet plan` with that file",
                        kDefinition, base::quoted(chosen.qualified())));
    return {.configuration = chosen.configuration, .definition = chosen.name};
}

} // namespace rdmanet::cmd
