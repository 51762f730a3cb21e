#include <rdmanet/base/process.hpp>

#include <rdmanet/base/directory.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>

namespace rdmanet::base {
namespace {

constexpr std::size_t kMostBytes = 65536;

constexpr std::string_view kSelf = "self";

/// A container may have the /proc of its host, where the numbers belong to other processes.
bool is_own_proc() {
    return parse_integer<std::int64_t>(link_target_of("/proc/self")) == ::getpid();
}

} // namespace

std::optional<std::uint64_t> parse_start_ticks(std::string_view stat) {
    std::size_t at = stat.rfind(')'); // the end of field 2, the name, which may contain any character
    for (int field = 2; field < 22 && at != std::string_view::npos; ++field) at = stat.find(' ', at + 1);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view rest = stat.substr(at + 1);
    return parse_integer<std::uint64_t>(rest.substr(0, rest.find(' ')));
}

std::string_view find_status(std::string_view status, std::string_view name) {
    const std::string begin = fmt::format("\n{}:\t", name);
    const auto at = status.find(begin);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = status.substr(at + begin.size());
    return rest.substr(0, rest.find('\n'));
}

std::string describe_process(std::int64_t pid) {
    std::string number = fmt::format("process {}", pid);
    try {
        const std::string name = read_file(fmt::format("/proc/{}/comm", pid), kMostBytes);
        return fmt::format("{} ({})", number, name.substr(0, name.find('\n')));
    } catch (const SystemError&) {
        return number;
    }
}

std::optional<ProcessIdentity> identify_process(std::string_view pid) {
    if (pid != kSelf && !is_own_proc()) return std::nullopt;
    try {
        const std::string directory = fmt::format("/proc/{}", pid);
        const auto start = parse_start_ticks(read_file(fmt::format("{}/stat", directory), kMostBytes));
        const std::string status_text = read_file(fmt::format("{}/status", directory), kMostBytes);
        const std::string_view numbers = find_status(status_text, kNumbersOfProcess);
        const auto innermost = parse_integer<std::int64_t>(numbers.substr(numbers.rfind('\t') + 1));
        struct stat status {};
        if (!start || !innermost || ::stat(fmt::format("{}/ns/pid", directory).c_str(), &status) != 0)
            return std::nullopt;
        return ProcessIdentity{.pid = *innermost, .pid_namespace_inode = status.st_ino, .start_ticks = *start};
    } catch (const SystemError&) {
        return std::nullopt;
    }
}

} // namespace rdmanet::base
