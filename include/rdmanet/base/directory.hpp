// Directories, and the small files and links of sysfs and procfs. Any of them may vanish at any moment.
#pragma once

#include <rdmanet/base/unique_fd.hpp>

#include <dirent.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::base {

/// An open directory. False if there is none, which then has no entries.
class DirectoryReader {
public:
    /// Throws SystemError, also if `path` is a file, which only sysfs may have in place of a directory.
    explicit DirectoryReader(std::string path, bool may_be_file = false);

    [[nodiscard]] explicit operator bool() const { return open_ != nullptr; }
    /// For openat(2).
    [[nodiscard]] int fd() const { return ::dirfd(open_.get()); }

    struct Entry {
        std::string_view name; // until the next call
        std::uint64_t inode;
    };
    /// One after the other, in no particular order, hidden ones too, but not "." and "..". nullopt at the end. Throws
    /// SystemError.
    [[nodiscard]] std::optional<Entry> next();

private:
    struct Close {
        void operator()(DIR* directory) const noexcept { (void)::closedir(directory); }
    };
    std::string path_;
    std::unique_ptr<DIR, Close> open_;
};

/// The names of all entries; none of a file. Throws SystemError.
[[nodiscard]] std::vector<std::string> list_directory(const std::string& path);

/// An empty descriptor if the directory is absent. Throws SystemError.
[[nodiscard]] UniqueFd open_directory(const std::string& path);

/// The first 4096 bytes of a file without the newline at their end; nullopt if the file is absent or has no value
/// (EINVAL: an empty entry of a GID table). `name` is relative to `directory`. Throws SystemError.
[[nodiscard]] std::optional<std::string> find_line(int directory, const std::string& name);

/// Where a symbolic link points; empty, with errno, if it cannot be read.
[[nodiscard]] std::string link_target_of(const std::string& path);
/// As above, but nullopt if the link is absent. Throws SystemError.
[[nodiscard]] std::optional<std::string> find_symlink(const std::string& path);

} // namespace rdmanet::base
