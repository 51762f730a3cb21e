// The configurations of container runtimes (containerd-config.toml(5), crio.conf(5)).
#pragma once

#include "context.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::doctor {

struct RuntimeFile {
    std::string path; // on the host
    std::string text; // TOML
};

/// Those that are there: containerd's, also of k3s and RKE2, CRI-O's, and the files that they import. A later one
/// counts more. Throws base::Error if one must not be read, or an imported file is missing.
[[nodiscard]] std::vector<RuntimeFile> list_runtime_files(const Context& context);

/// Those that this process, a containerd or crio, reads: the file of its option --config, or the usual one, and the
/// files that it imports. Throws base::Error as list_runtime_files(), and if the file of the option is not there.
[[nodiscard]] std::vector<RuntimeFile> list_files_of(const Context& context, const std::string& process);

/// The texts behind each `KEY =`: one text, or a list of them.
[[nodiscard]] std::vector<std::string> texts_behind(std::string_view toml, std::string_view key);

struct Table {
    std::string name; // as in the file, without brackets
    std::string_view text;
};
/// The tables of a file, each up to the next one. `toml` must live longer.
[[nodiscard]] std::vector<Table> tables_of(std::string_view toml);

/// The "base_runtime_spec" of each runtime in containerd's files: a file on the host, or empty for one without. A later
/// file counts more. Without any runtime it is runc alone, which containerd has by default.
[[nodiscard]] std::map<std::string, std::string> list_base_specs(const std::vector<RuntimeFile>& files);

} // namespace rdmanet::doctor
