// late_relocations FILE: a step of the build behind the linker. It takes the relative relocations of the sections
// ".late.*" out of the table that a static-PIE executable applies before main(), and puts them into the section
// "late_relocations", from which base::start_late_parts() applies them when they are needed.
//
// Both are in the form DT_RELR (generic ABI, "Relative Relocation Table"): an even word is the address of a place to
// be relocated; an odd word says by its other 63 bits which of the 63 words behind the last place are places as well.
#include "executable.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

constexpr std::uint64_t kPlaces = 63; // of an odd word

std::vector<std::uint64_t> decode(const std::vector<std::uint64_t>& words) {
    std::vector<std::uint64_t> places;
    std::uint64_t next = 0;
    for (const std::uint64_t word : words) {
        if (word % 2 == 0) {
            places.push_back(word);
            next = word + kWord;
            continue;
        }
        for (std::uint64_t bit = 0; bit < kPlaces; ++bit)
            if (word >> (bit + 1) & 1U) places.push_back(next + bit * kWord);
        next += kPlaces * kWord;
    }
    return places;
}

/// `places` ascend.
std::vector<std::uint64_t> encode(const std::vector<std::uint64_t>& places) {
    std::vector<std::uint64_t> words;
    for (std::size_t at = 0; at < places.size();) {
        words.push_back(places[at]);
        std::uint64_t next = places[at++] + kWord;
        for (;; next += kPlaces * kWord) {
            std::uint64_t word = 1;
            for (; at < places.size() && places[at] - next < kPlaces * kWord; ++at)
                word |= std::uint64_t{2} << (places[at] - next) / kWord;
            if (word == 1) break;
            words.push_back(word);
        }
    }
    return words;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) fail("expected one file");
    Executable executable(argv[1]);
    const Elf64_Shdr* table = executable.find(".relr.dyn");
    const Elf64_Shdr* late_table = executable.find("late_relocations");
    if (table == nullptr || late_table == nullptr) return 0; // linked without packed relocations, or without late parts
    if (executable.words_of(*late_table).front() != 0) fail("the executable has been through this step before");

    const auto is_late = [&](std::uint64_t place) {
        return std::any_of(executable.sections().begin(), executable.sections().end(), [&](const Elf64_Shdr& section) {
            return executable.name_of(section).rfind(".late.", 0) == 0 && place >= section.sh_addr &&
                   place < section.sh_addr + section.sh_size;
        });
    };
    std::vector<std::uint64_t> places = decode(executable.words_of(*table));
    const auto late =
        std::stable_partition(places.begin(), places.end(), [&](std::uint64_t place) { return !is_late(place); });
    const std::vector<std::uint64_t> early_words = encode({places.begin(), late});
    std::vector<std::uint64_t> late_words = encode({late, places.end()});
    late_words.push_back(0); // ends it
    executable.replace(*table, early_words);
    executable.replace(*late_table, late_words);
    executable.set_dynamic(36 /* DT_RELR */, table->sh_addr);
    executable.set_dynamic(35 /* DT_RELRSZ */, early_words.size() * kWord);
    write_file(argv[1], executable.content());
    return 0;
}
