#include "late_constructors.hpp"

#include <algorithm>

// Where the linker found a section of that name, it defines these.
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
