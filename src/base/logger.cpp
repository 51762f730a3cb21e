#include <rdmanet/base/logger.hpp>

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <ctime>

namespace rdmanet::base {
namespace {

/// "2026-01-31T12:00:00.123Z"
std::string utc_now() {
    timespec now{};
    (void)::clock_gettime(CLOCK_REALTIME, &now);
    tm parts{};
    (void)::gmtime_r(&now.tv_sec, &parts);
    char seconds[32];
    const auto length = ::strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &parts);
    const std::string milliseconds = concat(1000 + now.tv_nsec / 1'000'000);
    return concat(std::string_view(seconds, length), '.', milliseconds.substr(1), 'Z');
}

/// One event is one line, whatever foreign text it carries, and paints no terminal.
std::string on_one_line(std::string_view message) {
    std::string line(message);
    for (char& c : line)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    return line;
}

} // namespace

std::string_view to_string(LogLevel level) {
    switch (level) {
    case LogLevel::error: return "error";
    case LogLevel::warning: return "warning";
    case LogLevel::info: return "info";
    case LogLevel::debug: return "debug";
    }
    return "unknown";
}

Logger Logger::to_file(const std::string& path, LogLevel most_verbose) {
    // O_NONBLOCK: opening a fifo that nobody reads would wait for ever.
    UniqueFd fd(
        ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0640));
    if (!fd) throw SystemError(concat("open log file ", quoted(path)), errno);
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) throw SystemError(concat("examine log file ", quoted(path)), errno);
    if (!S_ISREG(status.st_mode)) throw Error(concat("log file ", quoted(path), " is not a regular file"));
    Logger logger(most_verbose);
    logger.file_ = std::move(fd);
    return logger;
}

void Logger::log(LogLevel level, std::string_view message) const noexcept {
    if (level > most_verbose_) return;
    try {
        const std::string line = concat(utc_now(), " rdmanet ", to_string(level), ' ', on_one_line(message), '\n');
        (void)!::write(file_ ? file_.get() : STDERR_FILENO, line.data(), line.size());
    } catch (...) { // out of memory: nothing left to say it with
    }
}

} // namespace rdmanet::base
