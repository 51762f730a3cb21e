#include "support/lease_lines.hpp"
#include "support/concat.hpp"

#include <rdmanet/base/error.hpp>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace rdmanet::test {
namespace {

namespace fs = std::filesystem;

std::string last_line_for(const std::string& text) {
    std::uint64_t hash = text.size();
    for (std::size_t at = 0; at < text.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + at, std::min<std::size_t>(8, text.size() - at));
        hash = std::rotl(hash ^ word, 29) * 0x9e3779b97f4a7c15;
    }
    char line[32];
    std::snprintf(line, sizeof line, "end\t%016llx\n", static_cast<unsigned long long>(hash ^ hash >> 32U));
    return line;
}

std::string content_of(const std::string& path) {
    std::ostringstream content;
    content << std::ifstream(path, std::ios::binary).rdbuf();
    return content.str();
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

} // namespace

std::vector<std::string> lease_lines(const std::string& path) {
    std::vector<std::string> lines;
    if (!fs::exists(path)) return lines;
    const std::string text = content_of(path);
    const auto end = text.rfind("end\t");
    if (end == std::string::npos || text.substr(end) != last_line_for(text.substr(0, end)))
        lines.push_back(concat("lease file: is damaged, at ", text.size(), " bytes"));
    for (const std::string& line : lines_of(text))
        if (line.starts_with("lease\t")) lines.push_back(concat("lease: ", line.substr(6)));
    return lines;
}

void edit_leases(const std::string& path, const std::function<std::string(const std::string& line)>& edit) {
    std::string text;
    for (const std::string& line : lines_of(content_of(path)))
        if (const std::string edited = line.starts_with("end\t") ? "" : edit(line); !edited.empty())
            text += edited + "\n";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text << last_line_for(text); // the same inode
}

void forget_leases(const std::string& path) {
    edit_leases(path, [](const std::string& line) {
        return line.starts_with("lease\t") || line.starts_with("rest\t") ? std::string() : line;
    });
}

std::vector<std::vector<std::string>> rows_of(const std::string& path, const std::string& kind) {
    std::vector<std::vector<std::string>> rows;
    for (const std::string& line : lines_of(content_of(path))) {
        if (!line.starts_with(kind + "\t")) continue;
        std::vector<std::string>& row = rows.emplace_back();
        std::istringstream fields(line.substr(kind.size() + 1));
        for (std::string field; std::getline(fields, field, '\t');) row.push_back(field);
    }
    return rows;
}

} // namespace rdmanet::test
