// An ELF executable in memory, for steps of the build behind the linker.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

constexpr std::uint64_t kWord = sizeof(std::uint64_t);

[[noreturn]] inline void fail(const char* what) {
    std::fprintf(stderr, "change the linked executable: %s\n", what);
    std::exit(1);
}

inline std::vector<char> read_file(const char* path) {
    std::FILE* file = std::fopen(path, "rb");
    if (file == nullptr) fail("the executable cannot be read");
    std::vector<char> content;
    char buffer[1U << 16U];
    for (std::size_t count = 0; (count = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
        content.insert(content.end(), buffer, buffer + count);
    std::fclose(file);
    return content;
}

inline void write_file(const char* path, const std::vector<char>& content) {
    std::FILE* file = std::fopen(path, "r+b");
    const bool is_written = file != nullptr && std::fwrite(content.data(), 1, content.size(), file) == content.size();
    if (!is_written || std::fclose(file) != 0) fail("the executable cannot be written");
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
    /// The place in the file of a function of the symbol table, if it has at least `least` bytes; 0 if there is none.
    /// Fails if there are two.
    [[nodiscard]] std::uint64_t find_function(const std::string& name, std::uint64_t least) const {
        const Elf64_Shdr* symbols = find(".symtab");
        const Elf64_Shdr* names = find(".strtab");
        if (symbols == nullptr || names == nullptr) fail("it has no symbols");
        std::uint64_t place = 0;
        for (std::uint64_t at = 0; at < symbols->sh_size; at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;
            std::memcpy(&symbol, content_.data() + symbols->sh_offset + at, sizeof symbol);
            const bool is_it = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_size >= least &&
                               symbol.st_shndx < sections_.size() && // not SHN_ABS and the like
                               name == content_.data() + names->sh_offset + symbol.st_name;
            if (!is_it) continue;
            const Elf64_Shdr& section = sections_[symbol.st_shndx];
            const std::uint64_t its_place = symbol.st_value - section.sh_addr + section.sh_offset;
            if (place != 0 && place != its_place) fail("it has two functions of one name");
            place = its_place;
        }
        return place;
    }
    void overwrite(std::uint64_t place, const std::vector<unsigned char>& bytes) {
        std::memcpy(content_.data() + place, bytes.data(), bytes.size());
    }
    [[nodiscard]] Elf64_Half machine() const { return header_.e_machine; }
    [[nodiscard]] const std::vector<char>& content() const { return content_; }

private:
    std::vector<char> content_;
    Elf64_Ehdr header_{};
    std::vector<Elf64_Shdr> sections_;
};
