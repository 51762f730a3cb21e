// Other processes, for messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::base {

/// `process 4711 (opensm)`; without the name if the process has ended, or may not be looked at.
[[nodiscard]] std::string describe_process(std::int64_t pid);

/// One process and none that gets its number later: as it is called in its own PID namespace, whoever looks.
struct ProcessIdentity {
    std::int64_t pid = 0;
    std::uint64_t pid_namespace_inode = 0;
    std::uint64_t start_ticks = 0; // since boot (proc(5), field 22 of stat)

    friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

/// Of a number as the caller sees it, or of "self"; nullopt if there is no such process or it may not be looked at.
[[nodiscard]] std::optional<ProcessIdentity> identify_process(std::string_view pid);

} // namespace rdmanet::base
