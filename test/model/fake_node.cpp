#include "model/fake_node.hpp"

#include "model/fibers.hpp"
#include "store/book_file.hpp"

#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/http/pause.hpp>

#include <fcntl.h>
#include <unistd.h>

namespace rdmanet {

model::Files model::files;

namespace base {
namespace {

/// It is held while its descriptor is open.
bool is_held(const std::string& name) {
    const auto lock = model::files.locks.find(name);
    return lock != model::files.locks.end() && ::fcntl(lock->second, F_GETFD) != -1;
}

} // namespace

FileLock::FileLock(const std::string& path, std::uint64_t slot, const std::string& /*what*/,
                   const Deadline& /*deadline*/, IfUnwritable /*if_unwritable*/) {
    if (model::files.without == model::Rule::lock) return;
    const std::string name = fmt::format("{} {}", path, slot);
    while (is_held(name)) model::files.wait();
    fd_ = UniqueFd(::dup(STDERR_FILENO));
    // Nothing else here opens files: whoever had this descriptor has closed it.
    std::erase_if(model::files.locks, [&](const auto& lock) { return lock.second == fd_.get(); });
    model::files.locks[name] = fd_.get();
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
    if (!model::Process::current().is_dead()) model::files.by_path[path_].text = head_ + std::string(answer);
}

void BootMemory::forget() const {
    if (!model::Process::current().is_dead()) model::files.by_path.erase(path_);
}

void make_directories(const std::string& /*path*/) {}

} // namespace base

namespace http {

std::chrono::milliseconds with_jitter(std::chrono::milliseconds longest) {
    return longest;
}
std::chrono::milliseconds any_part_of(std::chrono::milliseconds longest) {
    return longest;
}
std::chrono::milliseconds not_before(std::chrono::milliseconds shortest) {
    return shortest;
}
/// Long ones are those of reconcile, which waits for two minutes.
void pause(std::chrono::milliseconds duration) {
    if (duration >= std::chrono::seconds(1)) model::files.now += 120;
}
std::string Stopwatch::text() const {
    return "some time";
}

} // namespace http

namespace ipam {

Time system_time() {
    const std::int64_t now = model::files.without == model::Rule::stops ? 0 : model::files.now;
    return {.boot = now, .epoch = 1'700'000'000 + now};
}

DirectoryLock::DirectoryLock(const std::string& /*directory*/, const base::Deadline& /*deadline*/) {}

BookFile::BookFile(LeaseFile::Options options, const std::string& name)
    : options_(std::move(options)), path_(fmt::format("{}/{}", options_.state_directory, name)) {}

bool BookFile::is_there() const {
    return model::files.by_path.contains(path_);
}

bool BookFile::has_directory() const {
    return true;
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

/// What is done under the lock makes no request, so it is one step.
DirectoryLock BookFile::lock_directory(const base::Deadline& deadline) const {
    model::files.wait();
    return {options_.state_directory, deadline};
}

void BookFile::write(const LeaseBook& book) const {
    if (model::Process::current().is_dead()) return;
    const std::uint64_t inode = model::files.next_inode++;
    model::files.by_path[path_] = {.text = book.to_text(inode), .inode = inode};
}

void BookFile::remove_unfinished() const {}

std::optional<std::string> BookFile::repair(const base::Deadline& /*deadline*/) {
    return std::nullopt;
}

} // namespace ipam
} // namespace rdmanet
