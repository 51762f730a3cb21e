#include <rdmanet/base/directory.hpp>

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

namespace rdmanet::base {
namespace {

// ESRCH: /proc/PID of a process that has just ended. ENODEV: sysfs of a device that is gone.
bool means_no_file(int errno_value) {
    return errno_value == ENOENT || errno_value == ENOTDIR || errno_value == ESRCH || errno_value == ENODEV;
}

} // namespace

DirectoryReader::DirectoryReader(std::string path, bool may_be_file)
    : path_(std::move(path)), open_(::opendir(path_.c_str())) {
    if (!open_ && (errno == ENOTDIR ? !may_be_file : !means_no_file(errno)))
        throw SystemError(fmt::format("open directory {}", path_), errno);
}

std::optional<DirectoryReader::Entry> DirectoryReader::next() {
    for (errno = 0; const dirent* entry = open_ ? ::readdir(open_.get()) : nullptr;) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") return Entry{.name = name, .inode = entry->d_ino};
    }
    if (errno != 0 && !means_no_file(errno)) throw SystemError(fmt::format("read directory {}", path_), errno);
    return std::nullopt;
}

std::vector<std::string> list_directory(const std::string& path) {
    std::vector<std::string> names;
    DirectoryReader directory(path, true);
    while (const auto entry = directory.next()) names.emplace_back(entry->name);
    return names;
}

UniqueFd open_directory(const std::string& path) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd && !means_no_file(errno)) throw SystemError(fmt::format("open directory {}", path), errno);
    return fd;
}

std::optional<std::string> find_line(int directory, const std::string& name) {
    const UniqueFd fd(::openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd && means_no_file(errno)) return std::nullopt;
    if (!fd) throw SystemError(fmt::format("open {}", name), errno);
    char buffer[4096]; // a sysfs attribute is a page at most
    const ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
    if (count < 0 && (means_no_file(errno) || errno == EINVAL)) return std::nullopt;
    if (count < 0) throw SystemError(fmt::format("read {}", name), errno);
    std::string_view text(buffer, static_cast<std::size_t>(count));
    if (text.ends_with('\n')) text.remove_suffix(1);
    return std::string(text);
}

std::string link_target_of(const std::string& path) {
    char target[PATH_MAX];
    const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
    return {target, length < 0 ? 0 : static_cast<std::size_t>(length)};
}

std::optional<std::string> find_symlink(const std::string& path) {
    std::string target = link_target_of(path);
    if (!target.empty()) return target;
    if (means_no_file(errno)) return std::nullopt;
    throw SystemError(fmt::format("read link {}", path), errno);
}

} // namespace rdmanet::base
