#include "build_id.hpp"

#include <rdmanet/base/unique_fd.hpp>

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <string_view>
#include <vector>

namespace rdmanet::doctor {
namespace {

constexpr std::size_t kLargestNote = 4096;
constexpr std::size_t kMostSections = 10'000; // a module has one for each function, if it is built for live patches

bool read_at(int file, void* bytes, std::size_t size, std::uint64_t offset) {
    return ::pread(file, bytes, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

bool is_of_this_machine(const Elf64_Ehdr& header) {
    constexpr unsigned char kOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
           header.e_ident[EI_DATA] == kOrder && header.e_shentsize == sizeof(Elf64_Shdr);
}

bool has_name(int file, const Elf64_Shdr& names, const Elf64_Shdr& section, std::string_view name) {
    std::string found(name.size() + 1, ' ');
    return read_at(file, found.data(), found.size(), names.sh_offset + section.sh_name) &&
           std::string_view(found.c_str()) == name;
}

} // namespace

std::optional<std::string> build_id_in(const std::string& path) {
    const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    Elf64_Ehdr header;
    if (!file || !read_at(file.get(), &header, sizeof header, 0) || !is_of_this_machine(header)) return std::nullopt;
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    if (sections.size() > kMostSections || header.e_shstrndx >= sections.size() ||
        !read_at(file.get(), sections.data(), sections.size() * sizeof(Elf64_Shdr), header.e_shoff))
        return std::nullopt;
    for (const Elf64_Shdr& section : sections) {
        if (section.sh_type != SHT_NOTE || section.sh_size > kLargestNote ||
            !has_name(file.get(), sections[header.e_shstrndx], section, ".note.gnu.build-id"))
            continue;
        std::string note(section.sh_size, '\0');
        return read_at(file.get(), note.data(), note.size(), section.sh_offset) ? std::optional(note) : std::nullopt;
    }
    return std::nullopt;
}

} // namespace rdmanet::doctor
