#include "late_constructors.hpp"

#include <algorithm>

// The linker defines these symbols if it finds a section with that name.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
using Constructor = void (*)();
[[gnu::weak]] extern const Constructor __start_late_constructors[];
[[gnu::weak]] extern const Constructor __stop_late_constructors[];
}
// NOLINTEND(bugprone-reserved-identifier)

namespace rdmanet::cmd {

void run_late_constructors() {
    std::for_each(__start_late_constructors, __stop_late_constructors, [](Constructor each) { each(); });
}

} // namespace rdmanet::cmd
