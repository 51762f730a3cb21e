// A small file in the state directory: what this node has found out in this boot, and can find out again.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::base {

/// The answer to one question. A file that can't be read or written counts as none.
class BootMemory {
public:
    /// The file's name begins with `kind`.
    BootMemory(std::string_view state_directory, std::string_view boot_id, std::string_view kind,
               std::string_view question);

    [[nodiscard]] std::optional<std::string> find() const;
    void note(std::string_view answer) const;
    void forget() const;

    // An answer that is only a time, in seconds of the boot.

    void note_time(std::int64_t now) const;
    /// Whether note_time() was called less than `time` ago.
    [[nodiscard]] bool was_noted_within(std::chrono::seconds time, std::int64_t now) const;

private:
    std::string path_;
    std::string head_; // the boot
};

} // namespace rdmanet::base
