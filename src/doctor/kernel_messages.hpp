// The kernel's ring of messages (Documentation/ABI/testing/dev-kmsg).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmanet::doctor {

struct KernelMessage {
    std::chrono::microseconds time{0}; // since boot, without suspends
    std::string text;
};

/// The messages, read once for all checks.
class KernelLog {
public:
    explicit KernelLog(std::string root) : root_(std::move(root)) {}

    /// Those since the last `dmesg --clear`, the oldest first, and at most some 100,000. Never waits. Throws
    /// base::SystemError: without CAP_SYSLOG the kernel may refuse (kernel.dmesg_restrict).
    [[nodiscard]] const std::vector<KernelMessage>& messages();

private:
    std::string root_;
    std::optional<std::vector<KernelMessage>> messages_;
};

/// "6,339,5140900,-;the text": its fields are priority, number, microseconds and flags.
[[nodiscard]] KernelMessage parse_kernel_message(std::string_view record);

} // namespace rdmanet::doctor
