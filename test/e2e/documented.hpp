// What tests of README and docs/ share: the documents' first example, and blocks of commands.
#pragma once

#include "attachment_stage.hpp"
#include "markdown.hpp"

#include "support/concat.hpp"

#include <sstream>
#include <string>
#include <vector>

namespace rdmanet::test {

inline std::string example() {
    return source_text("conf-examples/roce-macvlan.json");
}

/// The example with changed or added members, written in JSON with single quotes.
inline std::string example_with(const std::string& members) {
    return concat(example().substr(0, example().rfind('}')), ',', json_text(members), '}');
}

inline PluginCall call_of(const Pod& pod, const std::string& config) {
    PluginCall call;
    call.netns = pod.path();
    call.config = config;
    return call;
}

/// The message without "code N: ".
inline std::string message_of(const std::string& refusal) {
    return refusal.substr(refusal.find(": ") + 2);
}

inline std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

inline bool is_commands(const CodeBlock& block) {
    return block.language == "indented" || block.language == "sh" || block.language.empty();
}

} // namespace rdmanet::test
