#include "model/fake_node.hpp"

#include "store/book_file.hpp"

#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/http/pause.hpp>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <set>

namespace rdmanet::model {

Files files;
std::function<void()> wait_for_lock = [] {};

} // namespace rdmanet::model

namespace rdmanet::base {
namespace {

/// A lock is held while its descriptor is open. Descriptors are used again, so the number alone says nothing.
std::map<std::string, std::pair<int, ino_t>> holders; // by path and slot

ino_t inode_of(int fd) {
    struct stat status {};
    return ::fstat(fd, &status) == 0 ? status.st_ino : 0;
}

} // namespace

FileLock::FileLock(const std::string& path, std::uint64_t slot, const std::string& /*what*/,
                   const Deadline& /*deadline*/, IfUnwritable /*if_unwritable*/) {
    const std::string name = fmt::format("{} {}", path, slot);
    for (;;) {
        const auto holder = holders.find(name);
        if (holder == holders.end() || inode_of(holder->second.first) != holder->second.second) break;
        model::wait_for_lock();
    }
    int ends[2];
    (void)::pipe2(ends, O_CLOEXEC); // each has an inode of its own
    (void)UniqueFd(ends[1]);
    fd_ = UniqueFd(ends[0]);
    holders[name] = {fd_.get(), inode_of(fd_.get())};
}

void FileLock::set(std::uint64_t /*slot*/, short /*type*/) {}
void FileLock::show(std::uint64_t /*slot*/) {}
void FileLock::hide(std::uint64_t /*slot*/) {}
std::optional<std::int64_t> find_lock_holder(const std::string& /*path*/, std::uint64_t /*slot*/) {
    return std::nullopt;
}

BootMemory::BootMemory(std::string_view state_directory, std::string_view boot_id, std::string_view kind,
                       std::string_view question)
    : path_(fmt::format("{}/{}-{:016x}", state_directory, kind, hash64(question))),
      head_(fmt::format("{}\n", boot_id)) {}

std::optional<std::string> BootMemory::find() const {
    const auto file = model::files.by_path.find(path_);
    if (file == model::files.by_path.end() || !file->second.text.starts_with(head_)) return std::nullopt;
    return file->second.text.substr(head_.size());
}

void BootMemory::note(std::string_view answer) const {
    model::files.by_path[path_] = {.text = fmt::format("{}{}", head_, answer)};
}

void BootMemory::forget() const {
    model::files.by_path.erase(path_);
}

void make_directories(const std::string& /*path*/) {}

} // namespace rdmanet::base

namespace rdmanet::http {

std::chrono::milliseconds with_jitter(std::chrono::milliseconds longest) {
    return longest;
}
std::chrono::milliseconds any_part_of(std::chrono::milliseconds longest) {
    return longest;
}
std::chrono::milliseconds not_before(std::chrono::milliseconds shortest) {
    return shortest;
}
void pause(std::chrono::milliseconds /*duration*/) {}
std::string Stopwatch::text() const {
    return "some time";
}

} // namespace rdmanet::http

namespace rdmanet::ipam {

DirectoryLock::DirectoryLock(const std::string& /*directory*/, const base::Deadline& /*deadline*/) {}

BookFile::BookFile(LeaseFile::Options options, const std::string& name)
    : options_(std::move(options)), path_(fmt::format("{}/{}", options_.state_directory, name)) {}

bool BookFile::is_there() const {
    return model::files.by_path.contains(path_);
}

std::optional<LeaseBook> BookFile::find() const {
    const auto file = model::files.by_path.find(path_);
    if (file == model::files.by_path.end()) return std::nullopt;
    return LeaseBook::parse(file->second.text, file->second.inode, options_.clock());
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
    return {options_.state_directory, deadline};
}

void BookFile::write(const LeaseBook& book) const {
    const std::uint64_t inode = model::files.next_inode++;
    model::files.by_path[path_] = {.text = book.to_text(inode), .inode = inode};
}

std::optional<std::string> BookFile::repair(const base::Deadline& /*deadline*/) {
    return std::nullopt;
}

} // namespace rdmanet::ipam
