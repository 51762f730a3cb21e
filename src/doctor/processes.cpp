#include "processes.hpp"

#include "files.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace rdmanet::doctor {

std::vector<std::string> list_processes(const Context& context) {
    std::vector<std::string> found;
    for (const std::string& name : names_in(context.path("/proc")))
        if (name.front() >= '0' && name.front() <= '9') found.push_back(context.path(fmt::format("/proc/{}", name)));
    return found;
}

std::string program_of(const std::string& process) {
    return line_of(fmt::format("{}/comm", process));
}

std::optional<std::uint64_t> locked_memory_of(const std::string& process) {
    constexpr std::string_view kLine = "Max locked memory"; // "Max locked memory  8388608  8388608  bytes"
    for (const std::string& line : lines_of(fmt::format("{}/limits", process)))
        if (line.starts_with(kLine)) {
            const std::size_t begin = line.find_first_not_of(' ', kLine.size());
            return base::parse_integer<std::uint64_t>(line.substr(begin, line.find(' ', begin) - begin));
        }
    return std::nullopt;
}

namespace {

bool is_absence(int error) {
    return error == ENOENT || error == ENOTDIR || error == ESRCH || error == ELOOP || error == ENAMETOOLONG;
}

} // namespace

base::UniqueFd open_in_image(const std::string& process, const std::string& path) {
    const std::string image = fmt::format("{}/root", process);
    const base::UniqueFd root(::open(image.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root && is_absence(errno)) return {};
    if (!root) throw base::SystemError(fmt::format("open {}", image), errno);
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT;
    constexpr int kAttempts = 10; // EAGAIN: something was renamed meanwhile (openat2(2))
    for (int attempt = 1;; ++attempt) {
        base::UniqueFd file(static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
        if (file || is_absence(errno)) return file;
        if (errno != EAGAIN || attempt == kAttempts)
            throw base::SystemError(fmt::format("open {} of {}", path, image), errno);
    }
}

bool image_has(const std::string& process, const std::string& path) {
    return static_cast<bool>(open_in_image(process, path));
}

std::vector<std::string> names_in_image(const std::string& process, const std::string& directory) {
    const base::UniqueFd found = open_in_image(process, directory);
    return found ? names_in(fmt::format("/proc/self/fd/{}", found.get())) : std::vector<std::string>{};
}

std::optional<bool> has_own_users(const Context& context, const std::string& process) {
    const std::string own = link_target_of(fmt::format("{}/ns/user", process));
    const std::string host = link_target_of(context.path("/proc/1/ns/user"));
    if (own.empty() || host.empty()) return std::nullopt;
    return own != host;
}

std::optional<bool> may_pin_any(const Context& context, const std::string& process) {
    const auto own_users = has_own_users(context, process);
    if (!own_users || *own_users) return own_users ? std::optional(false) : std::nullopt;
    constexpr std::string_view kEffective = "CapEff:\t";
    for (const std::string& line : lines_of(fmt::format("{}/status", process)))
        if (line.starts_with(kEffective)) {
            const auto bits = base::parse_integer<std::uint64_t>(std::string_view(line).substr(kEffective.size()), 16);
            return bits && ((*bits >> CAP_IPC_LOCK) & 1U) != 0;
        }
    return std::nullopt;
}

} // namespace rdmanet::doctor
