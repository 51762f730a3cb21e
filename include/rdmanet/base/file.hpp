// Files: bounded reads, durable writes.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::base {

/// Content of a file; nullopt if it does not exist. Throws SystemError, also (EFBIG) if it is longer than `most` bytes.
[[nodiscard]] std::optional<std::string> read_file_if_exists(const std::string& path, std::size_t most);
/// As above, but a missing file throws SystemError (ENOENT).
[[nodiscard]] std::string read_file(const std::string& path, std::size_t most);
/// As read_file_if_exists(), of a regular file, whose reads are short only at its end (filemap_read(), mm/filemap.c):
/// up to 16 KiB cost one open, one read and one close. `directory` is the file's directory if that is open already.
[[nodiscard]] std::optional<std::string> read_regular_file_if_exists(const std::string& path, std::size_t most,
                                                                     std::optional<int> directory = std::nullopt);
/// Everything from `fd` up to its end. Throws SystemError, also (EFBIG) past `most` bytes; `name` is for the message.
[[nodiscard]] std::string read_all(int fd, std::size_t most, std::string_view name);
/// As above, of a pipe that somebody may keep open or write to for ever: throws TimeoutError if the end has not come by
/// the deadline.
[[nodiscard]] std::string read_all(int fd, std::size_t most, std::string_view name, const Deadline& deadline);

/// All of `text` to `fd`, continuing after short writes. Throws SystemError.
void write_all(int fd, std::string_view text, std::string_view name);

/// Replaces or creates `path` so that after a crash at any instruction it holds the old or the new content, whole:
/// temporary file in the same directory, write, fsync, rename, fsync of the directory. Mode 0600. Throws SystemError;
/// the content is the old one then, unless it was the fsync of the directory that failed.
void write_file_durably(const std::string& path, std::string_view content);

/// Makes `path`, which must not be there: after a crash at any instruction it is absent or whole, and nothing else is
/// left, where the file system has files without a name (O_TMPFILE: tmpfs, ext4, xfs; elsewhere as above). Mode 0600.
/// Throws SystemError; EEXIST if it is there.
void create_file_durably(const std::string& path, std::string_view content);

enum class Removed { yes, was_absent };
/// unlink and fsync of the directory. Throws SystemError unless the file was absent; it may be gone all the same, if it
/// was the fsync that failed.
Removed remove_file_durably(const std::string& path);

/// Whether an errno value says that the file system is read-only or full.
[[nodiscard]] bool takes_no_writes(int errno_value);

/// mkdir -p with mode 0700 for what is created. Throws SystemError.
void make_directories(const std::string& path);

} // namespace rdmanet::base
