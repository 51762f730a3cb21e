#include <rdmanet/base/late_start.hpp>

#include <algorithm>
#include <cstdint>

// Where the linker found a section of that name, it defines these.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
using Constructor = void (*)();
[[gnu::weak]] extern const Constructor __start_late_constructors[];
[[gnu::weak]] extern const Constructor __stop_late_constructors[];
/// The executable's own first byte, whose address is by what the kernel has moved it.
[[gnu::weak, gnu::visibility("hidden")]] extern const char __ehdr_start[];
}
// NOLINTEND(bugprone-reserved-identifier)

namespace rdmanet::base {
namespace {

/// Written by a step of the build (cmake/late_relocations.cpp) behind the linker, so the compiler must not assume
/// zeros.
[[gnu::used, gnu::section("late_relocations")]] const volatile std::uint64_t kLateRelocations[1024] = {};

/// As the C library does it before main() (glibc, elf/dynamic-link.h, elf_dynamic_do_relr).
void relocate() {
    const auto moved_by = reinterpret_cast<std::uintptr_t>(__ehdr_start);
    const auto add = [&](std::uintptr_t* place) { *place += moved_by; };
    std::uintptr_t* next = nullptr;
    for (const volatile std::uint64_t* word = kLateRelocations; *word != 0; ++word) {
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
    if (is_started) return;
    is_started = true;
    relocate();
    std::for_each(__start_late_constructors, __stop_late_constructors, [](Constructor each) { each(); });
}

} // namespace rdmanet::base
