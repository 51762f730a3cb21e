#include "processes.hpp"

#include "files.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/host_file.hpp>
#include <rdmanet/base/process.hpp>
#include <rdmanet/base/text.hpp>

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
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

std::string name_of_process(const std::string& process) {
    return fmt::format("process {} ({})", process.substr(process.rfind('/') + 1), program_of(process));
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
    base::UniqueFd file = base::find_below(root, path);
    if (!file && !is_absence(errno)) throw base::SystemError(fmt::format("open {} of {}", path, image), errno);
    return file;
}

bool image_has(const std::string& process, const std::string& path) {
    return static_cast<bool>(open_in_image(process, path));
}

std::vector<std::string> names_in_image(const std::string& process, const std::string& directory, std::size_t most) {
    const base::UniqueFd found = open_in_image(process, directory);
    if (!found) return {};
    auto names = inventory::names_in(fmt::format("/proc/self/fd/{}", found.get()), most + 1);
    if (names.size() > most)
        throw base::Error(fmt::format("{} of {}: expected {} names at most", directory, process, most));
    return names;
}

std::optional<bool> has_own_users(const Context& context, const std::string& process) {
    const std::string own = link_target_of(fmt::format("{}/ns/user", process));
    const std::string host = link_target_of(context.path("/proc/1/ns/user"));
    if (own.empty() || host.empty()) return std::nullopt;
    return own != host;
}

namespace {

/// A line of /proc/PID/status without its name; empty if the process has ended.
std::string status_of(const std::string& process, std::string_view name) {
    return std::string(base::find_status(content_of(fmt::format("{}/status", process)), name));
}

/// The effective one; nullopt if it has ended.
std::optional<uid_t> user_of(const std::string& process) {
    const std::string users = status_of(process, "Uid"); // real, effective, saved, of the file system
    const std::size_t effective = users.find('\t') + 1;
    return base::parse_integer<uid_t>(users.substr(effective, users.find('\t', effective) - effective));
}

/// nullopt if it has ended.
std::optional<bool> has_capability(const std::string& process, unsigned capability) {
    const auto bits = base::parse_integer<std::uint64_t>(status_of(process, "CapEff"), 16);
    return bits ? std::optional(((*bits >> capability) & 1U) != 0) : std::nullopt;
}

} // namespace

bool is_of_root(const Context& context, const std::string& process) {
    return user_of(process) == 0 && !has_own_users(context, process).value_or(false);
}

std::optional<bool> may_pin_any(const Context& context, const std::string& process) {
    const auto own_users = has_own_users(context, process);
    if (!own_users || *own_users) return own_users ? std::optional(false) : std::nullopt;
    return has_capability(process, CAP_IPC_LOCK);
}

bool may_open(const Context& context, const std::string& process, const std::string& path) {
    struct stat status {};
    const base::UniqueFd file = open_in_image(process, path);
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISCHR(status.st_mode)) return false;
    constexpr mode_t kOthers = S_IROTH | S_IWOTH;
    constexpr mode_t kOwner = S_IRUSR | S_IWUSR;
    if ((status.st_mode & kOthers) == kOthers) return true;
    if (user_of(process) == status.st_uid && (status.st_mode & kOwner) == kOwner) return true;
    return has_own_users(context, process) == false && has_capability(process, CAP_DAC_OVERRIDE).value_or(false);
}

} // namespace rdmanet::doctor
