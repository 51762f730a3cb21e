// Files: bounded reads, durable writes.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::base {

/// Whether the file or directory is on a tmpfs. There fsync(2) does nothing (noop_fsync(), mm/shmem.c), and an inode
/// number is never used again (shmem_reserve_inode()). False if that cannot be found out.
[[nodiscard]] bool is_in_memory(const std::string& path);

/// Content of a file; nullopt if it does not exist. Throws SystemError, also (EFBIG) if it is longer than `most` bytes.
[[nodiscard]] std::optional<std::string> read_file_if_exists(const std::string& path, std::size_t most);
/// As above, but a missing file throws SystemError (ENOENT).
[[nodiscard]] std::string read_file(const std::string& path, std::size_t most);
/// As read_file_if_exists(), for a regular file: a short read means its end (filemap_read(), mm/filemap.c). A file of
/// up to 16 KiB costs one open, one read and one close. `directory` is the file's directory, if it is already open.
[[nodiscard]] std::optional<std::string> read_regular_file_if_exists(const std::string& path, std::size_t most,
                                                                     std::optional<int> directory = std::nullopt);
/// As read_file_if_exists(), for a path that a network names. Throws Error if it is not a regular file, and does not
/// open it: that would wait for a pipe's writer, or start a watchdog.
[[nodiscard]] std::optional<std::string> read_named_file_if_exists(const std::string& path, std::size_t most);
/// Reads `fd` to its end. Throws SystemError, also (EFBIG) if there are more than `most` bytes. `name` is for the
/// message.
[[nodiscard]] std::string read_all(int fd, std::size_t most, std::string_view name);
/// As above, for a pipe whose writer may never close it. Throws TimeoutError if the end has not come by the deadline.
[[nodiscard]] std::string read_all(int fd, std::size_t most, std::string_view name, const Deadline& deadline);

/// Writes all of `text` to `fd` and continues after short writes. Throws SystemError.
void write_all(int fd, std::string_view text, std::string_view name);

/// Replaces or creates `path`. After a crash at any instruction the file has the old or the new content, complete:
/// temporary file in the same directory, write, fsync, rename, fsync of the directory. On tmpfs, where it would do
/// nothing, fsync is left out. Mode 0600. Throws SystemError. The content is the old one then, unless the fsync of the
/// directory failed.
void write_file_durably(const std::string& path, std::string_view content);
/// As above. The content may say the inode of the file that gets it.
void write_file_durably(const std::string& path, const std::function<std::string(std::uint64_t inode)>& content_for);

/// Creates `path`, which must not exist. After a crash at any instruction the file is absent or complete. File
/// systems with unnamed files (O_TMPFILE: tmpfs, ext4, xfs) leave nothing else behind; on others this works like
/// write_file_durably(). Mode 0600. Throws SystemError, with EEXIST if the file exists.
void create_file_durably(const std::string& path, std::string_view content);

enum class Removed { yes, was_absent };
/// unlink and fsync of the directory, except on tmpfs. Throws SystemError unless the file was absent. If only the fsync
/// failed, the file is gone all the same.
Removed remove_file_durably(const std::string& path);

/// Whether an errno value says that the file system is read-only or full.
[[nodiscard]] bool takes_no_writes(int errno_value);

/// mkdir -p with mode 0700 for what is created. Throws SystemError.
void make_directories(const std::string& path);

} // namespace rdmanet::base
