// late_relocations FILE: a step of the build behind the linker. It takes the relative relocations of the sections
// ".late.*" out of the table that a static-PIE executable applies before main(), and puts them into the section
// "late_relocations", from which base::start_late_parts() applies them when they are needed.
//
// Both are in the form DT_RELR (generic ABI, "Relative Relocation Table"): an even word is the address of a place to
// be relocated; an odd word says by its other 63 bits which of the 63 words behind the last place are places as well.
#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::uint64_t kWord = sizeof(std::uint64_t);
constexpr std::uint64_t kPlaces = 63; // of an odd word

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "late_relocations: %s\n", what);
    std::exit(1);
}

std::vector<char> read_file(const char* path) {
    std::FILE* file = std::fopen(path, "rb");
    if (file == nullptr) fail("the executable cannot be read");
    std::vector<char> content;
    char buffer[1U << 16U];
    for (std::size_t count = 0; (count = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
        content.insert(content.end(), buffer, buffer + count);
    std::fclose(file);
    return content;
}

void write_file(const char* path, const std::vector<char>& content) {
    std::FILE* file = std::fopen(path, "r+b");
    const bool is_written = file != nullptr && std::fwrite(content.data(), 1, content.size(), file) == content.size();
    if (!is_written || std::fclose(file) != 0) fail("the executable cannot be written");
}

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

class Executable {
public:
    explicit Executable(const char* path) : content_(read_file(path)) {
        if (content_.size() < sizeof header_) fail("this is no ELF file");
        std::memcpy(&header_, content_.data(), sizeof header_);
        if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 || header_.e_ident[EI_CLASS] != ELFCLASS64)
            fail("this is no 64-bit ELF file");
        sections_.resize(header_.e_shnum);
        std::memcpy(sections_.data(), content_.data() + header_.e_shoff, sections_.size() * sizeof(Elf64_Shdr));
    }

    [[nodiscard]] std::string name_of(const Elf64_Shdr& section) const {
        return content_.data() + sections_.at(header_.e_shstrndx).sh_offset + section.sh_name;
    }
    [[nodiscard]] const Elf64_Shdr* find(const char* name) const {
        for (const Elf64_Shdr& section : sections_)
            if (name_of(section) == name) return &section;
        return nullptr;
    }
    [[nodiscard]] const std::vector<Elf64_Shdr>& sections() const { return sections_; }

    [[nodiscard]] std::vector<std::uint64_t> words_of(const Elf64_Shdr& section) const {
        std::vector<std::uint64_t> words(section.sh_size / kWord);
        std::memcpy(words.data(), content_.data() + section.sh_offset, words.size() * kWord);
        return words;
    }
    /// Zeros behind `words`.
    void replace(const Elf64_Shdr& section, std::vector<std::uint64_t> words) {
        if (words.size() * kWord > section.sh_size) fail("a table is too small");
        words.resize(section.sh_size / kWord);
        std::memcpy(content_.data() + section.sh_offset, words.data(), words.size() * kWord);
    }
    void set_dynamic(std::int64_t tag, std::uint64_t value) {
        const Elf64_Shdr* dynamic = find(".dynamic");
        for (std::uint64_t at = 0; dynamic != nullptr && at < dynamic->sh_size; at += sizeof(Elf64_Dyn)) {
            Elf64_Dyn entry;
            std::memcpy(&entry, content_.data() + dynamic->sh_offset + at, sizeof entry);
            if (entry.d_tag != tag) continue;
            entry.d_un.d_val = value;
            std::memcpy(content_.data() + dynamic->sh_offset + at, &entry, sizeof entry);
            return;
        }
        fail("the executable has no packed relocations");
    }
    [[nodiscard]] const std::vector<char>& content() const { return content_; }

private:
    std::vector<char> content_;
    Elf64_Ehdr header_{};
    std::vector<Elf64_Shdr> sections_;
};

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
