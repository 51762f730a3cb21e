#include "directory.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>

namespace rdmanet::kernel {
namespace {

using base::SystemError;
using base::UniqueFd;

struct CloseDirectory {
    void operator()(DIR* directory) const noexcept { (void)::closedir(directory); }
};

// ESRCH: /proc/PID of a process that has just ended. ENODEV: sysfs of a device that is gone.
bool means_no_file(int errno_value) {
    return errno_value == ENOENT || errno_value == ENOTDIR || errno_value == ESRCH || errno_value == ENODEV;
}

} // namespace

UniqueFd open_directory(const std::string& path) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd && !means_no_file(errno)) throw SystemError(fmt::format("open directory {}", path), errno);
    return fd;
}

std::vector<std::string> list_directory(const std::string& path) {
    std::vector<std::string> names;
    const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(path.c_str()));
    if (!directory && means_no_file(errno)) return names;
    if (!directory) throw SystemError(fmt::format("open directory {}", path), errno);
    errno = 0;
    while (const dirent* entry = ::readdir(directory.get())) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") names.emplace_back(name);
        errno = 0;
    }
    if (errno != 0 && !means_no_file(errno)) throw SystemError(fmt::format("read directory {}", path), errno);
    return names;
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

std::optional<std::string> find_symlink(const std::string& path) {
    char buffer[256];
    const ssize_t count = ::readlink(path.c_str(), buffer, sizeof buffer);
    if (count < 0 && means_no_file(errno)) return std::nullopt;
    if (count < 0) throw SystemError(fmt::format("read link {}", path), errno);
    return std::string(buffer, static_cast<std::size_t>(count));
}

} // namespace rdmanet::kernel
