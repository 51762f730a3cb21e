#include "linker_map.hpp"

#include "support/concat.hpp"

#include <rdmanet/base/error.hpp>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

namespace rdmanet::test {
namespace {

/// " .text.SYMBOL ADDRESS SIZE FILE", on two lines if the name is long.
std::optional<Section> parse(const std::string& line, std::string& long_name) {
    std::istringstream words(line);
    Section section{};
    if (long_name.empty())
        words >> section.name;
    else
        section.name = std::exchange(long_name, {});
    if (!section.name.starts_with(".text")) return std::nullopt;
    std::string address;
    std::string size;
    if (!(words >> address)) {
        long_name = section.name;
        return std::nullopt;
    }
    if (!(words >> size >> section.file) || !address.starts_with("0x")) return std::nullopt;
    section.address = std::stoull(address, nullptr, 16);
    section.size = std::stoull(size, nullptr, 16);
    // The linker left out what has no address. A line of the program's own section names no file.
    const bool is_there = section.address != 0 && section.size != 0;
    return is_there ? std::optional(section) : std::nullopt;
}

} // namespace

std::vector<Section> read_map(const std::filesystem::path& map) {
    std::vector<Section> sections;
    std::ifstream file(map);
    std::string long_name;
    for (std::string line; std::getline(file, line);)
        if (auto section = parse(line, long_name)) sections.push_back(*std::move(section));
    if (sections.empty()) throw base::Error(concat(map.string(), " is no map with functions"));
    std::sort(sections.begin(), sections.end(),
              [](const Section& a, const Section& b) { return a.address < b.address; });
    return sections;
}

} // namespace rdmanet::test
