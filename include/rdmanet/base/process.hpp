// Other processes, for messages.
#pragma once

#include <cstdint>
#include <string>

namespace rdmanet::base {

/// `process 4711 (opensm)`; without the name if the process has ended, or may not be looked at.
[[nodiscard]] std::string describe_process(std::int64_t pid);

} // namespace rdmanet::base
