#include <rdmanet/base/logger.hpp>

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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
    return fmt::format("{}.{:03}Z", std::string_view(seconds, length), now.tv_nsec / 1'000'000);
}

/// One event is one line, whatever foreign text it contains. Control characters cannot reach a terminal.
std::string on_one_line(std::string_view message) {
    std::string line(message);
    for (char& c : line)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    return line;
}

UniqueFd open_unlinked(int directory, const std::string& name, int flags, const std::string& path) {
    UniqueFd fd(::openat(directory, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0640));
    if (!fd && errno == ELOOP)
        throw Error(
            fmt::format("log file: {} is a symbolic link, which logging does not follow: remove it", quoted(path)));
    if (!fd) throw SystemError(fmt::format("log file: open {}", quoted(path)), errno);
    return fd;
}

/// Anyone else who may write here could have replaced the file.
void require_own(const UniqueFd& fd, mode_t type, const std::string& path) {
    const bool is_directory = type == S_IFDIR;
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) throw SystemError(fmt::format("log file: examine {}", quoted(path)), errno);
    if ((status.st_mode & S_IFMT) != type)
        throw Error(fmt::format("log file: {} is not a {}: remove it", quoted(path),
                                is_directory ? "directory" : "regular file"));
    if (status.st_uid != ::geteuid())
        throw Error(fmt::format("log file: {} belongs to user {}, expected {}: run `chown {} {}`", quoted(path),
                                status.st_uid, ::geteuid(), ::geteuid(), path));
    if ((status.st_mode & S_IWOTH) != 0)
        throw Error(fmt::format("log file: {} is writable by every user: run `chmod o-w {}`", quoted(path), path));
    if (!is_directory && status.st_nlink > 1)
        throw Error(
            fmt::format("log file: {} has {} hard links, expected 1: remove it", quoted(path), status.st_nlink));
}

UniqueFd open_log_directory(int parent, const std::string& name, const std::string& path) {
    if (::mkdirat(parent, name.c_str(), 0755) != 0 && errno != EEXIST)
        throw SystemError(fmt::format("log file: create directory {}", quoted(path)), errno);
    UniqueFd fd = open_unlinked(parent, name, O_PATH, path); // O_PATH opens a link itself, which is not a directory
    require_own(fd, S_IFDIR, path);
    return fd;
}

UniqueFd open_log_file(const std::string& directory, const std::string& file) {
    UniqueFd parent(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!parent) throw SystemError(fmt::format("log file: open directory {}", quoted(directory)), errno);
    const auto slash = file.find('/');
    if (slash != std::string::npos) {
        const std::string inner = file.substr(0, slash);
        parent = open_log_directory(parent.get(), inner, fmt::format("{}/{}", directory, inner));
    }
    const std::string path = fmt::format("{}/{}", directory, file);
    // O_NONBLOCK: opening a fifo without a reader would wait for ever.
    UniqueFd fd = open_unlinked(parent.get(), slash == std::string::npos ? file : file.substr(slash + 1),
                                O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY, path);
    require_own(fd, S_IFREG, path);
    return fd;
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

Logger Logger::to_file(const std::string& directory, const std::string& file, LogLevel most_verbose) {
    Logger logger(most_verbose);
    logger.file_ = open_log_file(directory, file);
    return logger;
}

Logger Logger::to_list(std::vector<std::string>& messages, LogLevel most_verbose) {
    Logger logger(most_verbose);
    logger.messages_ = &messages;
    return logger;
}

void Logger::log(LogLevel level, std::string_view message) const noexcept {
    if (level > most_verbose_) return;
    try {
        const std::string text = on_one_line(rewrite_ != nullptr ? rewrite_(message) : std::string(message));
        if (messages_ != nullptr) {
            messages_->push_back(text);
            return;
        }
        const std::string line = fmt::format("{} rdmanet {} {}\n", utc_now(), level, text);
        (void)!::write(file_ ? file_.get() : STDERR_FILENO, line.data(), line.size());
    } catch (...) { // out of memory: nothing left to report it with
    }
}

} // namespace rdmanet::base
