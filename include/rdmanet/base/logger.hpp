// One line for each event, to standard error or to the file that the configuration names. Only `attach` and `main`
// log.
#pragma once

#include <rdmanet/base/unique_fd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::base {

enum class LogLevel : std::uint8_t { error, warning, info, debug };
[[nodiscard]] std::string_view to_string(LogLevel level);

class Logger {
public:
    /// To standard error, which callers of a CNI plugin copy to their own log.
    explicit Logger(LogLevel most_verbose) : most_verbose_(most_verbose) {}

    /// Appends to `file`, which may be in a subdirectory of `directory`. A missing file (mode 0640) or subdirectory
    /// is created. The file must be a regular file that the caller owns. Only `directory` may be a symbolic link:
    /// whoever chose `file` must not choose where it leads. Throws Error.
    [[nodiscard]] static Logger to_file(const std::string& directory, const std::string& file, LogLevel most_verbose);

    /// Adds the messages to `messages`, which outlives the logger, and writes nothing.
    [[nodiscard]] static Logger to_list(std::vector<std::string>& messages, LogLevel most_verbose);

    /// From now on, every message is written as `rewrite` returns it.
    void set_rewrite(std::string (*rewrite)(std::string_view)) { rewrite_ = rewrite; }

    /// Writes "TIME LEVEL MESSAGE" as one line in one write(2), so that the lines of concurrent processes do not mix.
    /// A failure to log is ignored, because it is no reason to fail.
    void log(LogLevel level, std::string_view message) const noexcept;

    void error(std::string_view message) const noexcept { log(LogLevel::error, message); }
    void warn(std::string_view message) const noexcept { log(LogLevel::warning, message); }
    void info(std::string_view message) const noexcept { log(LogLevel::info, message); }
    void debug(std::string_view message) const noexcept { log(LogLevel::debug, message); }

private:
    LogLevel most_verbose_;
    UniqueFd file_;
    std::vector<std::string>* messages_ = nullptr;
    std::string (*rewrite_)(std::string_view) = nullptr;
};

} // namespace rdmanet::base
