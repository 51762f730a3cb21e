#include "example_rights.hpp"

#include "support/source_path.hpp"

#include <yaml-cpp/yaml.h>

#include <stdexcept>

namespace rdmanet::test {
namespace {

void append_rule(const YAML::Node& rule, std::vector<Right>& rights) {
    for (const YAML::Node& group : rule["apiGroups"])
        for (const YAML::Node& resource : rule["resources"])
            for (const YAML::Node& verb : rule["verbs"])
                rights.push_back({.group = group.as<std::string>(),
                                  .resource = resource.as<std::string>(),
                                  .verb = verb.as<std::string>()});
}

} // namespace

std::vector<Right> rights_of_example(const std::string& file, const std::string& role) {
    std::vector<Right> rights;
    for (const YAML::Node& object : YAML::LoadAllFromFile(source_path("conf-examples/" + file)))
        if (role.empty() || object["metadata"]["name"].as<std::string>() == role)
            for (const YAML::Node& rule : object["rules"]) append_rule(rule, rights);
    if (rights.empty()) throw std::runtime_error(file + " grants nothing to " + role);
    return rights;
}

std::string rules_text(const std::vector<Right>& rights) {
    std::string text;
    for (const Right& right : rights)
        text += std::string(text.empty() ? "[" : ",") + R"({"apiGroups":[")" + right.group + R"("],"resources":[")" +
                right.resource + R"("],"verbs":[")" + right.verb + "\"]}";
    return text.empty() ? "[]" : text + "]";
}

std::vector<Right> without(const Right& missing, std::vector<Right> rights) {
    std::erase(rights, missing);
    return rights;
}

} // namespace rdmanet::test
