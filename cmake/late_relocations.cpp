// late_relocations FILE: a step of the build behind the linker. The relocations of section ".late" are the last ones
// in the table of those that a static-PIE executable applies before main(). This makes the table end before them;
// base::start_late_parts() applies them when they are needed.
//
// The table is in the form DT_RELR (generic ABI, "Relative Relocation Table"): an even word is the address of a place
// to be relocated; an odd word says by its other 63 bits which of the 63 words behind the last place are places, too.
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

namespace {

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "late_relocations: %s\n", what);
    std::exit(1);
}

char* map_file(const char* path) {
    const int file = ::open(path, O_RDWR);
    const off_t size = ::lseek(file, 0, SEEK_END);
    void* const memory = ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) fail("the executable cannot be changed");
    return static_cast<char*>(memory);
}

template <class Part>
std::span<Part> parts_at(char* content, std::uint64_t at, std::uint64_t size) {
    return {reinterpret_cast<Part*>(content + at), size / sizeof(Part)};
}

Elf64_Shdr find_section(char* content, std::string_view name) {
    const Elf64_Ehdr header = parts_at<Elf64_Ehdr>(content, 0, sizeof header).front();
    const auto sections = parts_at<Elf64_Shdr>(content, header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));
    for (const Elf64_Shdr& section : sections)
        if (name == content + sections[header.e_shstrndx].sh_offset + section.sh_name) return section;
    fail("the executable has no packed relocations, or no late parts");
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) fail("expected one file");
    char* const content = map_file(argv[1]);
    const Elf64_Shdr table = find_section(content, ".relr.dyn");
    const Elf64_Shdr late = find_section(content, ".late");
    const Elf64_Shdr dynamic = find_section(content, ".dynamic");
    const auto words = parts_at<std::uint64_t>(content, table.sh_offset, table.sh_size);
    const auto is_behind = [](std::uint64_t address) {
        return [address](std::uint64_t word) { return word % 2 == 0 && word >= address; };
    };
    const auto first = std::find_if(words.begin(), words.end(), is_behind(late.sh_addr));
    if (std::any_of(first, words.end(), is_behind(late.sh_addr + late.sh_size)))
        fail("relocated data lies behind the late parts");
    for (Elf64_Dyn& entry : parts_at<Elf64_Dyn>(content, dynamic.sh_offset, dynamic.sh_size))
        if (entry.d_tag == DT_RELRSZ)
            entry.d_un.d_val = static_cast<std::uint64_t>(first - words.begin()) * sizeof(std::uint64_t);
    return 0;
}
