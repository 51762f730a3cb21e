#include <rdmanet/base/file.hpp>

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/wait.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace rdmanet::base {
namespace {

std::string directory_of(const std::string& path) {
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

/// The file system cannot hold a file with a name that is too long, so the file does not exist.
bool is_absent(int errno_value) {
    return errno_value == ENOENT || errno_value == ENAMETOOLONG;
}

bool is_in_memory(int fd) {
    struct statfs file_system {};
    return ::fstatfs(fd, &file_system) == 0 && file_system.f_type == TMPFS_MAGIC;
}

void sync_file(int fd, const std::string& path) {
    if (::fsync(fd) != 0) throw SystemError(fmt::format("fsync {}", path), errno);
}

void sync_directory(const std::string& directory) {
    const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) throw SystemError(fmt::format("open directory {}", directory), errno);
    sync_file(fd.get(), directory);
}

/// Removes the temporary file, unless it was renamed to its final place.
class TemporaryFile {
public:
    explicit TemporaryFile(const std::string& target) : path_(fmt::format("{}.tmp", target)) {}
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() {
        if (!renamed_) (void)::unlink(path_.c_str());
    }

    [[nodiscard]] const std::string& path() const { return path_; }
    void rename_to(const std::string& target) {
        if (::rename(path_.c_str(), target.c_str()) != 0)
            throw SystemError(fmt::format("rename {} to {}", path_, target), errno);
        renamed_ = true;
    }

private:
    std::string path_;
    bool renamed_ = false;
};

} // namespace

bool is_in_memory(const std::string& path) {
    struct statfs file_system {};
    return ::statfs(path.c_str(), &file_system) == 0 && file_system.f_type == TMPFS_MAGIC;
}

namespace {

enum class ShortRead : std::uint8_t { says_nothing, is_the_end };

/// Reads `fd` to its end and calls `await_input()` before each read.
template <class AwaitInput>
std::string read_to_end(int fd, std::size_t most, std::string_view name, AwaitInput await_input,
                        ShortRead short_read = ShortRead::says_nothing) {
    std::string content;
    char buffer[16384];
    for (;;) {
        await_input();
        const ssize_t count = ::read(fd, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw SystemError(fmt::format("read {}", name), errno);
        if (count == 0) return content;
        content.append(buffer, static_cast<std::size_t>(count));
        if (content.size() > most) throw SystemError(fmt::format("read {}: more than {} bytes", name, most), EFBIG);
        const bool is_short = static_cast<std::size_t>(count) < sizeof buffer;
        if (is_short && short_read == ShortRead::is_the_end) return content;
    }
}

void await_input_of(int fd, std::string_view name, const Deadline& deadline) {
    if (fd < 0) return; // poll(2) ignores it and waits; read(2) refuses it
    // The deadline counts while input arrives: a writer of single bytes may take hours to reach the size limit.
    if (deadline.passed() || !wait_for_events(fd, POLLIN, deadline))
        throw TimeoutError(fmt::format("timed out reading {}: it did not end", name));
}

} // namespace

std::string read_all(int fd, std::size_t most, std::string_view name) {
    return read_to_end(fd, most, name, [] {});
}

std::string read_all(int fd, std::size_t most, std::string_view name, const Deadline& deadline) {
    return read_to_end(fd, most, name, [&] { await_input_of(fd, name, deadline); });
}

std::optional<std::string> read_file_if_exists(const std::string& path, std::size_t most) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd && is_absent(errno)) return std::nullopt;
    if (!fd) throw SystemError(fmt::format("open {}", path), errno);
    return read_all(fd.get(), most, path);
}

std::optional<std::string> read_regular_file_if_exists(const std::string& path, std::size_t most,
                                                       std::optional<int> directory) {
    const char* const name = directory ? path.c_str() + path.rfind('/') + 1 : path.c_str();
    const UniqueFd fd(::openat(directory.value_or(AT_FDCWD), name, O_RDONLY | O_CLOEXEC));
    if (!fd && is_absent(errno)) return std::nullopt;
    if (!fd) throw SystemError(fmt::format("open {}", path), errno);
    return read_to_end(
        fd.get(), most, path, [] {}, ShortRead::is_the_end);
}

std::optional<std::string> read_named_file_if_exists(const std::string& path, std::size_t most) {
    const UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC)); // does not call the driver's open (open(2))
    if (!place && is_absent(errno)) return std::nullopt;
    struct stat status {};
    if (!place || ::fstat(place.get(), &status) != 0) throw SystemError(fmt::format("open {}", path), errno);
    if (!S_ISREG(status.st_mode)) throw Error(fmt::format("{} is not a regular file", path));
    const UniqueFd fd(::open(fmt::format("/proc/self/fd/{}", place.get()).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) throw SystemError(fmt::format("open {}", path), errno);
    return read_all(fd.get(), most, path);
}

std::string read_file(const std::string& path, std::size_t most) {
    auto content = read_file_if_exists(path, most);
    if (!content) throw SystemError(fmt::format("open {}", path), ENOENT);
    return *std::move(content);
}

void write_all(int fd, std::string_view text, std::string_view name) {
    while (!text.empty()) {
        const ssize_t count = ::write(fd, text.data(), text.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw SystemError(fmt::format("write {}", name), errno);
        text.remove_prefix(static_cast<std::size_t>(count));
    }
}

namespace {

/// `content_of(fd)` is what is written to the temporary file.
template <class ContentOf>
void replace_file(const std::string& path, ContentOf content_of) {
    TemporaryFile temporary(path);
    UniqueFd fd(::open(temporary.path().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) throw SystemError(fmt::format("create {}", temporary.path()), errno);
    write_all(fd.get(), content_of(fd.get()), temporary.path());
    const bool is_lasting = !is_in_memory(fd.get());
    if (is_lasting) sync_file(fd.get(), temporary.path());
    fd.reset();
    temporary.rename_to(path);
    if (is_lasting) sync_directory(directory_of(path));
}

} // namespace

void write_file_durably(const std::string& path, std::string_view content) {
    replace_file(path, [&](int /*fd*/) { return content; });
}

void write_file_durably(const std::string& path, const std::function<std::string(std::uint64_t inode)>& content_for) {
    replace_file(path, [&](int fd) {
        struct stat status {};
        if (::fstat(fd, &status) != 0) throw SystemError(fmt::format("create {}", path), errno);
        return content_for(status.st_ino);
    });
}

void create_file_durably(const std::string& path, std::string_view content) {
    const UniqueFd fd(::open(directory_of(path).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600));
    if (!fd && (errno == EOPNOTSUPP || errno == EISDIR)) { // EISDIR: a kernel without O_TMPFILE (open(2))
        write_file_durably(path, content);
        return;
    }
    if (!fd) throw SystemError(fmt::format("create {}", path), errno);
    write_all(fd.get(), content, path);
    const bool is_lasting = !is_in_memory(fd.get());
    if (is_lasting) sync_file(fd.get(), path);
    const std::string nameless = fmt::format("/proc/self/fd/{}", fd.get());
    if (::linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) != 0)
        throw SystemError(fmt::format("create {}", path), errno);
    if (is_lasting) sync_directory(directory_of(path));
}

Removed remove_file_durably(const std::string& path) {
    if (::unlink(path.c_str()) != 0) {
        if (is_absent(errno)) return Removed::was_absent;
        throw SystemError(fmt::format("remove {}", path), errno);
    }
    if (const std::string directory = directory_of(path); !is_in_memory(directory)) sync_directory(directory);
    return Removed::yes;
}

bool takes_no_writes(int errno_value) {
    return errno_value == EROFS || errno_value == ENOSPC || errno_value == EDQUOT;
}

void make_directories(const std::string& path) {
    if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return;
    if (errno != ENOENT) throw SystemError(fmt::format("create directory {}", path), errno);
    make_directories(directory_of(path));
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
        throw SystemError(fmt::format("create directory {}", path), errno);
}

} // namespace rdmanet::base
