// What GNU ld's map says of a program's code.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rdmanet::test {

/// Code that the linker moves as a whole: a function, or a file whose functions have no sections of their own.
struct Section {
    std::string name; // .text.SYMBOL, or .text
    std::uint64_t address;
    std::uint64_t size;
    std::string file; // LIBRARY(MEMBER) or an object, with its folder
};

/// The sections of the program's code, by address. Throws base::Error if the map has none.
[[nodiscard]] std::vector<Section> read_map(const std::filesystem::path& map);

} // namespace rdmanet::test
