// The distribution of the node (os-release(5)), for fixes that are its own commands.
#pragma once

#include "context.hpp"

#include <cstdint>

namespace rdmanet::doctor {

enum class Distribution : std::uint8_t { debian, ubuntu, red_hat, other };

/// What /etc/os-release says, or that a derivative says it is like. `other` also if the file is absent.
[[nodiscard]] Distribution distribution_of(const Context& context);

/// The command that writes the files of /etc/modprobe.d into the initramfs of the running kernel.
[[nodiscard]] std::string_view initramfs_command(Distribution distribution);

} // namespace rdmanet::doctor
