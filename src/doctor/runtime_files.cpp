#include "runtime_files.hpp"

#include "files.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace rdmanet::doctor {
namespace {

/// The texts in quotes of a value, up to the end of its line, or of its list in brackets.
std::vector<std::string> texts_of(std::string_view value) {
    std::vector<std::string> texts;
    const bool is_list = value.starts_with('[');
    for (std::size_t at = 0; at < value.size(); ++at) {
        const char c = value[at];
        if (c == '#') at = std::min(value.find('\n', at), value.size() - 1); // a comment
        if (is_list ? c == ']' : value[at] == '\n') break;
        if (c != '"' && c != '\'') continue;
        const std::size_t end = value.find(c, at + 1);
        if (end == std::string_view::npos) break;
        texts.emplace_back(value.substr(at + 1, end - at - 1));
        at = end;
    }
    return texts;
}

/// Empty if the line begins no table: "[plugins.cri]  # a comment".
std::string table_in(std::string_view line) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos || line[begin] != '[') return {};
    const std::size_t end = line.find(']', begin);
    const std::size_t behind = end == std::string_view::npos ? end : line.find_first_not_of(" \t\r", end + 1);
    // A line of a list in brackets may look like that, too, but has a comma behind it.
    if (end == std::string_view::npos || (behind != std::string_view::npos && line[behind] != '#')) return {};
    return std::string(line.substr(begin + 1, end - begin - 1));
}

} // namespace

std::vector<RuntimeFile> list_runtime_files(const Context& context) {
    std::vector<std::string> paths{"/etc/containerd/config.toml",
                                   "/var/lib/rancher/k3s/agent/etc/containerd/config.toml",
                                   "/var/lib/rancher/rke2/agent/etc/containerd/config.toml", "/etc/crio/crio.conf"};
    for (const std::string& name : names_in(context.path("/etc/crio/crio.conf.d")))
        paths.push_back(fmt::format("/etc/crio/crio.conf.d/{}", name));
    std::vector<RuntimeFile> files;
    for (std::string& path : paths)
        if (std::string text = content_of(context.path(path)); !text.empty())
            files.push_back({.path = std::move(path), .text = std::move(text)});
    return files;
}

std::vector<std::string> texts_behind(std::string_view toml, std::string_view key) {
    std::vector<std::string> texts;
    for (std::size_t at = 0; (at = toml.find(key, at)) != std::string_view::npos; at += key.size()) {
        const std::size_t line = toml.rfind('\n', at) + 1; // 0 in the first line
        const std::size_t equals = toml.find_first_not_of(" \t", at + key.size());
        if (toml.find_first_not_of(" \t", line) != at || equals == std::string_view::npos || toml[equals] != '=')
            continue;
        const std::size_t value = toml.find_first_not_of(" \t", equals + 1);
        if (value == std::string_view::npos) break;
        for (std::string& text : texts_of(toml.substr(value))) texts.push_back(std::move(text));
    }
    return texts;
}

std::vector<Table> tables_of(std::string_view toml) {
    std::vector<Table> tables;
    std::size_t begin = 0; // of the text of the last table
    for (std::size_t line = 0; line < toml.size();) {
        const std::size_t end = std::min(toml.find('\n', line), toml.size());
        if (std::string name = table_in(toml.substr(line, end - line)); !name.empty()) {
            if (!tables.empty()) tables.back().text = toml.substr(begin, line - begin);
            tables.push_back({.name = std::move(name), .text = {}});
            begin = end;
        }
        line = end + 1;
    }
    if (!tables.empty()) tables.back().text = toml.substr(begin);
    return tables;
}

} // namespace rdmanet::doctor
