#include <rdmanet/base/logger.hpp>

#include <rdmanet/base/error.hpp>
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

[[noreturn]] void refuse_log(const std::string& path, std::string_view why) {
    throw Error(concat("log file: ", quoted(path), ' ', why));
}

UniqueFd open_unlinked(int directory, const std::string& name, int flags, const std::string& path) {
    UniqueFd fd(::openat(directory, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0640));
    if (!fd && errno == ELOOP) refuse_log(path, "is a symbolic link, which logging does not follow: remove it");
    if (!fd) throw SystemError(concat("log file: open ", quoted(path)), errno);
    return fd;
}

/// Whoever else may write here could have put another file in its place.
void require_own(const UniqueFd& fd, mode_t type, const std::string& path) {
    const bool is_directory = type == S_IFDIR;
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) throw SystemError(concat("log file: examine ", quoted(path)), errno);
    if ((status.st_mode & S_IFMT) != type)
        refuse_log(path, is_directory ? "is not a directory: remove it" : "is not a regular file: remove it");
    if (status.st_uid != ::geteuid())
        refuse_log(path, concat("belongs to user ", status.st_uid, ", expected ", ::geteuid(), ": run `chown ",
                                ::geteuid(), ' ', path, '`'));
    if ((status.st_mode & S_IWOTH) != 0)
        refuse_log(path, concat("can be written by everybody: run `chmod o-w ", path, '`'));
    if (!is_directory && status.st_nlink > 1)
        refuse_log(path, concat("has ", status.st_nlink, " names (hard links): remove it"));
}

UniqueFd open_log_directory(int parent, const std::string& name, const std::string& path) {
    if (::mkdirat(parent, name.c_str(), 0755) != 0 && errno != EEXIST)
        throw SystemError(concat("log file: create directory ", quoted(path)), errno);
    UniqueFd fd = open_unlinked(parent, name, O_PATH, path); // O_PATH opens a link itself, which is no directory
    require_own(fd, S_IFDIR, path);
    return fd;
}

UniqueFd open_log_file(const std::string& directory, const std::string& file) {
    UniqueFd parent(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!parent) throw SystemError(concat("log file: open directory ", quoted(directory)), errno);
    const auto slash = file.find('/');
    if (slash != std::string::npos) {
        const std::string inner = file.substr(0, slash);
        parent = open_log_directory(parent.get(), inner, concat(directory, '/', inner));
    }
    const std::string path = concat(directory, '/', file);
    // O_NONBLOCK: opening a fifo that nobody reads would wait for ever.
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
        if (messages_ != nullptr) {
            messages_->push_back(on_one_line(message));
            return;
        }
        const std::string line = concat(utc_now(), " rdmanet ", to_string(level), ' ', on_one_line(message), '\n');
        (void)!::write(file_ ? file_.get() : STDERR_FILENO, line.data(), line.size());
    } catch (...) { // out of memory: nothing left to say it with
    }
}

} // namespace rdmanet::base
