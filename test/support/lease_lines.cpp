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

std::vector<std::string> fields_of(const std::string& line) {
    std::vector<std::string> fields(1);
    for (const char c : line) {
        if (c == '\t')
            fields.emplace_back();
        else
            fields.back() += c;
    }
    return fields;
}

std::string text_of(const std::vector<std::string>& fields) {
    std::string line;
    for (const std::string& field : fields) line += (&field == fields.data() ? "" : "\t") + field;
    return line;
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

bool let_a_minute_pass_for_blocks(const std::string& path) {
    if (!fs::exists(path)) return false;
    bool has_request = false;
    edit_leases(path, [&](const std::string& line) {
        if (!line.starts_with("block\t")) return line;
        std::vector<std::string> fields = fields_of(line);
        has_request = has_request || fields.at(4) == "0"; // closed
        for (const std::size_t at : {9, 10}) // when it was confirmed, if it was, and since when it is empty or open
            if (!fields.at(at).empty()) fields.at(at) = std::to_string(std::stoll(fields.at(at)) - 60);
        return text_of(fields);
    });
    return has_request;
}

void change_container(const std::string& path, const std::string& from, const std::string& to) {
    edit_leases(path, [&](const std::string& line) {
        std::vector<std::string> fields = fields_of(line);
        if (fields.front() != "lease" || fields.at(6) != from) return line;
        fields.at(6) = to;
        return to.empty() ? std::string() : text_of(fields);
    });
}

void forget_leases(const std::string& path) {
    edit_leases(path, [](const std::string& line) {
        return line.starts_with("lease\t") || line.starts_with("rest\t") ? std::string() : line;
    });
}

std::vector<std::vector<std::string>> rows_of(const std::string& path, const std::string& kind) {
    std::vector<std::vector<std::string>> rows;
    for (const std::string& line : lines_of(content_of(path)))
        if (line.starts_with(kind + "\t")) rows.push_back(fields_of(line));
    return rows;
}

} // namespace rdmanet::test
