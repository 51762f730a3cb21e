#include "book_file.hpp"

#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace rdmanet::ipam {
namespace {

using base::quoted;

constexpr std::size_t kLargest = 64U << 20U; // some hundred thousand leases

/// Runs `act`, which looks at files or changes them.
template <class Act>
auto in_files(const Act& act) try {
    return act();
} catch (const base::SystemError& error) {
    const bool may_pass = base::is_shortage(error.errno_value());
    throw StoreError(may_pass ? StoreError::Kind::temporary : StoreError::Kind::permanent,
                     fmt::format("lease store: {}", error.what()));
}

[[noreturn]] void fail_as_damaged(const std::string& path, std::string_view why) {
    throw DamagedStore(fmt::format("lease store {} is damaged: {}", quoted(path), why));
}

bool exists(const std::string& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0) return true; // also a loop of links
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return in_files([&]() -> bool { throw base::SystemError(fmt::format("look for {}", quoted(path)), errno); });
}

bool is_readable(const struct stat& status) {
    return S_ISREG(status.st_mode) && static_cast<std::size_t>(status.st_size) <= kLargest;
}

std::string free_name(const std::string& path, std::int64_t now) {
    std::string name = fmt::format("{}.corrupt-{}", path, now);
    for (int attempt = 2; ::access(name.c_str(), F_OK) == 0; ++attempt)
        name = fmt::format("{}.corrupt-{}-{}", path, now, attempt);
    return name;
}

} // namespace

BookFile::BookFile(LeaseFile::Options options, const std::string& name)
    : options_(std::move(options)), path_(fmt::format("{}/{}", options_.state_directory, name)) {}

bool BookFile::is_there() const {
    return exists(path_);
}

bool BookFile::has_directory() const {
    return exists(options_.state_directory);
}

/// nullopt if there is no file.
std::optional<LeaseBook> BookFile::find() const {
    // Opening a pipe would wait for its writer.
    const base::UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!fd && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
    if (!fd && (errno == ELOOP || errno == ENXIO)) fail_as_damaged(path_, base::errno_text(errno));
    struct stat status {};
    std::string text = in_files([&]() -> std::string {
        if (!fd || ::fstat(fd.get(), &status) != 0)
            throw base::SystemError(fmt::format("open {}", quoted(path_)), errno);
        return is_readable(status) ? base::read_all(fd.get(), kLargest, path_) : std::string();
    });
    if (!S_ISREG(status.st_mode)) fail_as_damaged(path_, "it is not a regular file");
    if (!is_readable(status)) fail_as_damaged(path_, "it is larger than any that was written");
    try {
        return LeaseBook::parse(std::move(text), status.st_ino, options_.clock());
    } catch (const NotABook& error) {
        fail_as_damaged(path_, error.why());
    } catch (const NewerBook& error) {
        throw StoreError(StoreError::Kind::permanent,
                         fmt::format("lease store {} {}: use the rdmanet that wrote it, or a newer one", quoted(path_),
                                     error.what()));
    }
}

LeaseBook BookFile::of_known_leases() const {
    return {options_.clock(), options_.known_leases ? options_.known_leases() : std::vector<Lease>{}};
}

LeaseBook BookFile::read() {
    if (auto book = find()) return *std::move(book);
    has_read_known_ = true;
    return of_known_leases();
}

DirectoryLock BookFile::lock_directory(const base::Deadline& deadline) const {
    return in_files([&] {
        base::make_directories(options_.state_directory);
        return DirectoryLock(options_.state_directory, deadline);
    });
}

void BookFile::write(const LeaseBook& book) const {
    in_files([&] { base::write_file_durably(path_, [&](std::uint64_t inode) { return book.to_text(inode); }); });
}

/// What a writer that was killed has left (base::write_file_durably()). Whoever has the lock is the only writer.
void BookFile::remove_unfinished() const {
    (void)::unlink((path_ + ".tmp").c_str());
}

void BookFile::tidy(const base::Deadline& deadline) const {
    if (!exists(path_ + ".tmp")) return;
    const DirectoryLock lock = lock_directory(deadline);
    remove_unfinished();
}

/// The damaged file is there until the new one is, so that nobody takes it for a node without leases. What is no
/// regular file has no second name.
std::optional<std::string> BookFile::repair(const base::Deadline& deadline) {
    if (!is_there()) return std::nullopt;
    const DirectoryLock lock = lock_directory(deadline);
    try {
        if (const auto book = find()) (void)book->leases(); // read() parses a lease when it is asked for
        return std::nullopt;
    } catch (const DamagedStore&) {
    }
    const std::string aside = free_name(path_, options_.clock().epoch);
    in_files([&] {
        if (::link(path_.c_str(), aside.c_str()) != 0 && ::rename(path_.c_str(), aside.c_str()) != 0)
            throw base::SystemError(fmt::format("rename {} to {}", quoted(path_), quoted(aside)), errno);
    });
    write(of_known_leases());
    return aside;
}

} // namespace rdmanet::ipam
