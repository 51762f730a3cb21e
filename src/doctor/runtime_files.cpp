#include "runtime_files.hpp"

#include "files.hpp"
#include "node_programs.hpp"
#include "processes.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/text.hpp>

#include <fnmatch.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
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

/// `plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc` is of runc. Empty for tables of other things, and
/// for those inside, such as its options.
std::string runtime_of(const Table& table) {
    constexpr std::string_view kPart = ".runtimes.";
    const std::size_t at = table.name.find(kPart);
    if (at == std::string::npos) return {};
    std::string name = table.name.substr(at + kPart.size());
    if (name.find('.') != std::string::npos) return {};
    std::erase_if(name, [](char c) { return c == '"' || c == '\''; });
    return name;
}

constexpr const char* kContainerd = "/etc/containerd/config.toml";
constexpr const char* kCrio = "/etc/crio/crio.conf";
constexpr const char* kCrioFolder = "/etc/crio/crio.conf.d";

/// The paths that a path with "*" stands for. Like filepath.Glob() of Go, "*" matches a dot in front, too.
std::vector<std::string> list_matches(const Context& context, const std::string& pattern) {
    std::vector<std::string> found{""};
    std::istringstream parts(pattern);
    for (std::string part; std::getline(parts, part, '/');) {
        if (part.empty()) continue;
        std::vector<std::string> longer;
        for (const std::string& path : found) {
            if (part.find('*') == std::string::npos)
                longer.push_back(fmt::format("{}/{}", path, part));
            else
                for (const std::string& name : names_in(context.path(fmt::format("{}/", path))))
                    if (::fnmatch(part.c_str(), name.c_str(), 0) == 0)
                        longer.push_back(fmt::format("{}/{}", path, name));
        }
        found = std::move(longer);
    }
    return found;
}

/// The paths that a file of containerd imports. A relative one begins at the file's directory.
std::vector<std::string> list_imports(const Context& context, const RuntimeFile& file) {
    std::vector<std::string> paths;
    for (const std::string& import : texts_behind(file.text, "imports")) {
        const std::string path = import.starts_with('/')
                                     ? import
                                     : fmt::format("{}{}", file.path.substr(0, file.path.rfind('/') + 1), import);
        for (std::string& match : list_matches(context, path)) {
            if (path.find('*') == std::string::npos && !exists(context.path(match)))
                throw base::Error(fmt::format("{} imports {}, which is not there", file.path, match));
            paths.push_back(std::move(match));
        }
    }
    return paths;
}

/// A file if it is there, and after it the files that it imports, each one once (containerd-config.toml(5)).
void add_with_imports(const Context& context, const std::string& path, std::vector<RuntimeFile>& files) {
    constexpr std::size_t kMost = 100;
    constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
    std::vector<std::string> paths{path};
    for (std::size_t next = 0; next < paths.size(); ++next) {
        if (next == kMost) throw base::Error(fmt::format("{} imports more than {} files", path, kMost));
        auto text = base::read_named_file_if_exists(context.path(paths[next]), kMostBytes);
        if (!text) continue;
        files.push_back({.path = paths[next], .text = std::move(*text)});
        for (std::string& import : list_imports(context, files.back()))
            if (std::ranges::find(paths, import) == paths.end()) paths.push_back(std::move(import));
    }
}

void add_folder(const Context& context, const std::string& folder, std::vector<RuntimeFile>& files) {
    for (const std::string& name : names_in(context.path(folder)))
        add_with_imports(context, fmt::format("{}/{}", folder, name), files);
}

/// Throws base::Error if the file of its option is not known.
std::string main_file_of(const Context& context, const std::string& process, const char* usual) {
    const auto named = option_of(process, {"config", "c"});
    if (!named) return usual;
    if (!named->starts_with('/') || !exists(context.path(*named)))
        throw base::Error(fmt::format("its configuration is not known: expected an absolute path of a file behind its "
                                      "option --config, found {}",
                                      base::quoted(*named)));
    return *named;
}

} // namespace

std::vector<RuntimeFile> list_runtime_files(const Context& context) {
    std::vector<RuntimeFile> files;
    for (const char* path : {kContainerd, "/var/lib/rancher/k3s/agent/etc/containerd/config.toml",
                             "/var/lib/rancher/rke2/agent/etc/containerd/config.toml", kCrio})
        add_with_imports(context, path, files);
    add_folder(context, kCrioFolder, files);
    return files;
}

std::vector<RuntimeFile> list_files_of(const Context& context, const std::string& process) {
    std::vector<RuntimeFile> files;
    const bool is_crio = program_of(process) == "crio";
    add_with_imports(context, main_file_of(context, process, is_crio ? kCrio : kContainerd), files);
    if (is_crio) add_folder(context, option_of(process, {"config-dir", "d"}).value_or(kCrioFolder), files);
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
            tables.push_back({.name = std::move(name)});
            begin = end;
        }
        line = end + 1;
    }
    if (!tables.empty()) tables.back().text = toml.substr(begin);
    return tables;
}

std::map<std::string, std::string> list_base_specs(const std::vector<RuntimeFile>& files) {
    std::map<std::string, std::string> specs;
    for (const RuntimeFile& file : files)
        for (const Table& table : tables_of(file.text)) {
            const std::string runtime = runtime_of(table);
            if (runtime.empty()) continue;
            std::string& spec = specs[runtime];
            if (const auto texts = texts_behind(table.text, "base_runtime_spec"); !texts.empty()) spec = texts.back();
        }
    if (specs.empty()) specs["runc"]; // as it is without a configuration
    return specs;
}

} // namespace rdmanet::doctor
