// The kernel's ring of messages (Documentation/ABI/testing/dev-kmsg).
#pragma once

#include "context.hpp"

#include <string>
#include <vector>

namespace rdmanet::doctor {

/// The texts of all messages since the last `dmesg --clear`, the oldest first. Never waits. Throws base::SystemError:
/// without CAP_SYSLOG the kernel may refuse (kernel.dmesg_restrict).
[[nodiscard]] std::vector<std::string> read_kernel_messages(const Context& context);

} // namespace rdmanet::doctor
