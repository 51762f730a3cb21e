#include <rdmanet/base/host_file.hpp>

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace rdmanet::base {

UniqueFd find_below(const UniqueFd& root, const std::string& file) {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC; // does not call the driver's open (open(2))
    how.resolve = RESOLVE_IN_ROOT;
    constexpr int kAttempts = 10; // EAGAIN: something was renamed meanwhile (openat2(2))
    for (int attempt = 1;; ++attempt) {
        UniqueFd found(static_cast<int>(::syscall(SYS_openat2, root.get(), file.c_str(), &how, sizeof how)));
        if (found || errno != EAGAIN || attempt == kAttempts) return found;
    }
}

namespace {

UniqueFd find_on_host(const std::string& root, const std::string& file) {
    const UniqueFd top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!top) return {};
    UniqueFd found = find_below(top, file);
    if (!found && (errno == ENOSYS || errno == EPERM))
        return UniqueFd(::open(fmt::format("{}{}", root, file).c_str(), O_PATH | O_CLOEXEC));
    return found;
}

} // namespace

std::optional<std::string> read_host_file_if_exists(const std::string& root, const std::string& file,
                                                    std::size_t most) {
    if (root.empty()) return read_named_file_if_exists(file, most);
    const UniqueFd place = find_on_host(root, file);
    if (!place && (errno == ENOENT || errno == ENAMETOOLONG)) return std::nullopt;
    struct stat status {};
    if (!place || ::fstat(place.get(), &status) != 0) throw SystemError(fmt::format("open {}", file), errno);
    if (!S_ISREG(status.st_mode)) throw Error(fmt::format("{} is not a regular file", file));
    const UniqueFd fd(::open(fmt::format("/proc/self/fd/{}", place.get()).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) throw SystemError(fmt::format("open {}", file), errno);
    return read_all(fd.get(), most, file);
}

} // namespace rdmanet::base
