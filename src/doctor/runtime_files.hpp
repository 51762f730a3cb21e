// The configurations of container runtimes (containerd-config.toml(5), crio.conf(5)).
#pragma once

#include "context.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::doctor {

struct RuntimeFile {
    std::string path; // on the host
    std::string text; // TOML
};

/// Those that are there: containerd's, also of k3s and RKE2, and CRI-O's. A later one counts more.
[[nodiscard]] std::vector<RuntimeFile> list_runtime_files(const Context& context);

/// The texts behind each `KEY =`: one text, or a list of them.
[[nodiscard]] std::vector<std::string> texts_behind(std::string_view toml, std::string_view key);

struct Table {
    std::string name; // as in the file, without brackets
    std::string_view text;
};
/// The tables of a file, each up to the next one. `toml` must live longer.
[[nodiscard]] std::vector<Table> tables_of(std::string_view toml);

} // namespace rdmanet::doctor
