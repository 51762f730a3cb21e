#include "lock_holder.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/process.hpp>
#include <rdmanet/base/text.hpp>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <optional>

namespace rdmanet::ipam {
namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 20U;

/// "MAJOR:MINOR:INODE", as in /proc/locks (fs/locks.c, lock_get_status).
std::string file_in_locks(const struct stat& status) {
    std::array<char, 64> text{};
    const int length = std::snprintf(text.data(), text.size(), " %02x:%02x:%llu ", major(status.st_dev),
                                     minor(status.st_dev), static_cast<unsigned long long>(status.st_ino));
    return {text.data(), static_cast<std::size_t>(length)};
}

/// The process of a line "1: POSIX  ADVISORY  WRITE 123 00:1a:456 1073741825 1073741825".
std::optional<int> writer_in(std::string_view line, std::string_view file) {
    const auto at = line.find(file);
    if (at == std::string_view::npos || line.find(" WRITE ") == std::string_view::npos) return std::nullopt;
    const auto begin = line.rfind(' ', at - 1);
    return base::parse_integer<int>(line.substr(begin + 1, at - begin - 1));
}

std::optional<int> find_writer(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return std::nullopt;
    const std::string file = file_in_locks(status);
    const std::string locks = base::read_file("/proc/locks", kMostBytes);
    for (std::size_t at = 0; at < locks.size();) {
        const auto end = std::min(locks.find('\n', at), locks.size());
        const auto pid = writer_in(std::string_view(locks).substr(at, end - at), file);
        if (pid && *pid > 0 && *pid != ::getpid()) return pid;
        at = end + 1;
    }
    return std::nullopt;
}

} // namespace

std::string lock_holder_of(const std::string& path) try {
    const auto pid = find_writer(path);
    if (!pid) return {};
    return fmt::format(", which {} has locked", base::describe_process(*pid));
} catch (const base::Error&) {
    return {}; // no /proc, or the holder has just gone
}

} // namespace rdmanet::ipam
