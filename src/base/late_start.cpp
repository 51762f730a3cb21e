#include <rdmanet/base/late_start.hpp>

#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

// Of the linker (cmake/late.ld), in the static executable.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
using Constructor = void (*)();
[[gnu::weak, gnu::visibility("hidden")]] extern char late_begin[];
[[gnu::weak, gnu::visibility("hidden")]] extern char late_writable[];
[[gnu::weak, gnu::visibility("hidden")]] extern const Constructor late_constructors[];
[[gnu::weak, gnu::visibility("hidden")]] extern const Constructor late_constructors_end[];
[[gnu::weak, gnu::visibility("hidden")]] extern const std::uint64_t late_relocations[];
[[gnu::weak, gnu::visibility("hidden")]] extern const std::uint64_t late_relocations_end[];
/// The executable's own first byte, whose address is by what the kernel has moved it.
[[gnu::weak, gnu::visibility("hidden")]] extern const char __ehdr_start[];
[[gnu::weak, gnu::visibility("hidden")]] extern const Elf64_Dyn _DYNAMIC[];
}
// NOLINTEND(bugprone-reserved-identifier)

namespace rdmanet::base {
namespace {

/// Where the C library has ended (cmake/late_relocations.cpp).
const std::uint64_t* first_relocation() {
    const Elf64_Dyn* entry = _DYNAMIC;
    while (entry->d_tag != DT_RELRSZ) ++entry;
    return late_relocations + entry->d_un.d_val / sizeof(std::uint64_t);
}

/// As the C library does it before main() (glibc, elf/dynamic-link.h, elf_dynamic_do_relr).
void relocate() {
    const auto moved_by = reinterpret_cast<std::uintptr_t>(__ehdr_start);
    const auto add = [&](std::uintptr_t* place) { *place += moved_by; };
    std::uintptr_t* next = nullptr;
    for (const std::uint64_t* word = first_relocation(); word != late_relocations_end; ++word) {
        if (*word % 2 == 0) {
            next = reinterpret_cast<std::uintptr_t*>(moved_by + *word); // NOLINT(performance-no-int-to-ptr)
            add(next++);
            continue;
        }
        std::uintptr_t* place = next;
        for (std::uint64_t bits = *word >> 1U; bits != 0; bits >>= 1U, ++place)
            if (bits & 1U) add(place);
        next += 63;
    }
}

} // namespace

void start_late_parts() {
    static bool is_started = false;
    if (is_started || late_begin == nullptr) return;
    is_started = true;
    relocate();
    (void)::mprotect(late_begin, static_cast<std::size_t>(late_writable - late_begin), PROT_READ);
    std::for_each(late_constructors, late_constructors_end, [](Constructor each) { each(); });
}

} // namespace rdmanet::base
