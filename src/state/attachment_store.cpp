#include <rdmanet/state/attachment_store.hpp>

#include "record_index.hpp"

#include <rdmanet/base/directory.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/state/state_directory.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <utility>

namespace rdmanet::state {
namespace {

constexpr std::size_t kMostBytes = std::size_t{32} << 20U; // a record holds a delegate's configuration, at most 16 MiB

std::string attachments_in(const std::string& directory) {
    return fmt::format("{}/attachments", directory);
}

/// The IPAM record of an attachment has the lock of its interface. An entry with "attach": "rdma" has its own.
AttachmentKey locked_as(const AttachmentKey& key) {
    return key.role == kIpamRole ? key.with_role("") : key;
}

std::uint64_t slot_of(const AttachmentKey& key) {
    return base::hash64(locked_as(key).file_name());
}

/// Never an attachment's own slot, because file names of records have no blank.
std::uint64_t slot_of_add(const AttachmentKey& key) {
    return base::hash64(fmt::format("ADD of {}", locked_as(key).file_name()));
}

constexpr std::string_view kRecallSuffix = ".del"; // no longer than that of temporary files, see kLongestFileName

std::string recall_path(const std::string& directory, const AttachmentKey& key) {
    return fmt::format("{}/{}{}", attachments_in(directory), locked_as(key).file_name(), kRecallSuffix);
}

/// Names with their inode numbers.
using Files = std::map<std::string, std::uint64_t>;

/// The directory of records. To read many of them, it is opened once, and each file is then opened relative to it.
class Directory {
public:
    explicit Directory(std::string path) : path_(std::move(path)) {}

    [[nodiscard]] std::string path_of(const std::string& name) const { return fmt::format("{}/{}", path_, name); }

    /// Opens the directory and lists its files; none if it does not exist. Throws SystemError.
    [[nodiscard]] Files files(std::string_view suffix) {
        Files files;
        open_.emplace(path_);
        while (const auto entry = open_->next())
            if (entry->name.ends_with(suffix)) files.emplace(entry->name, entry->inode);
        return files;
    }

    /// Throws SystemError.
    [[nodiscard]] std::optional<std::string> read_if_exists(const std::string& name) const {
        const auto open = open_ && *open_ ? std::optional(open_->fd()) : std::nullopt;
        return base::read_regular_file_if_exists(path_of(name), kMostBytes, open);
    }

private:
    std::string path_;
    std::optional<base::DirectoryReader> open_;
};

Unreadable unreadable(const std::string& path, const std::string& name, std::string reason) {
    return {.path = path, .reason = std::move(reason), .key = AttachmentKey::parse_file_name(name)};
}

/// Throws SystemError if the file cannot be read now: it may hold a good record.
LoadOutcome load_from(const Directory& directory, const std::string& name) {
    const std::string path = directory.path_of(name);
    try {
        const auto text = directory.read_if_exists(name);
        if (!text) return NoRecord{};
        AttachmentRecord record = AttachmentRecord::parse(*text);
        if (record.key.file_name() != name)
            return unreadable(path, name, fmt::format("describes another attachment ({})", record.key));
        return record;
    } catch (const base::SystemError&) {
        throw;
    } catch (const base::Error& error) {
        return unreadable(path, name, error.what());
    }
}

LoadOutcome look_at(const Directory& directory, const std::string& name) {
    try {
        return load_from(directory, name);
    } catch (const base::SystemError& error) {
        return unreadable(directory.path_of(name), name, error.what());
    }
}

/// Runs `act`, which writes in `directory`. Only if the directory is missing, makes it and runs `act` again: nearly
/// always it is there.
template <class Act>
auto write_in(const std::string& directory, const Act& act) {
    try {
        return act();
    } catch (const base::SystemError& error) {
        if (error.errno_value() != ENOENT) throw;
    }
    base::make_directories(directory);
    return act();
}

bool is_about(const AttachmentRecord& record, const std::string& topic) {
    const auto topics = record.topics();
    return std::find(topics.begin(), topics.end(), topic) != topics.end();
}

} // namespace

AttachmentStore::AttachmentStore(std::string state_directory, Access access)
    : directory_(std::move(state_directory)), access_(access) {}

base::FileLock AttachmentStore::lock_file(const char* name, std::uint64_t slot, const std::string& what,
                                          const base::Deadline& deadline) const {
    if (access_ == Access::look) return {};
    const bool undoes = access_ == Access::undo;
    const std::string path = fmt::format("{}/{}", directory_, name);
    try {
        return write_in(directory_, [&] {
            return base::FileLock(path, slot, what, deadline,
                                  undoes ? base::IfUnwritable::shared : base::IfUnwritable::fail);
        });
    } catch (const base::SystemError& error) {
        if (undoes && base::takes_no_writes(error.errno_value())) return {}; // there is no directory, so no ADD either
        require_other_cause(directory_, error);
        throw;
    }
}

template <class Act>
void AttachmentStore::change(const Act& act) const {
    try {
        write_in(attachments_in(directory_), act);
    } catch (const base::SystemError& error) {
        require_other_cause(directory_, error);
        throw;
    }
}

base::FileLock AttachmentStore::lock(const AttachmentKey& key, const base::Deadline& deadline) const {
    return lock_file("lock", slot_of(key), fmt::format("the lock of the attachment ({})", key), deadline);
}

base::FileLock AttachmentStore::lock_for_add(const AttachmentKey& key, const base::Deadline& deadline) const {
    base::FileLock held = lock(key, deadline);
    held.show(slot_of_add(key));
    return held;
}

void AttachmentStore::show_committed(const AttachmentKey& key, base::FileLock& lock) const {
    lock.hide(slot_of_add(key));
}

std::optional<std::int64_t> AttachmentStore::find_add(const AttachmentKey& key) const {
    return base::find_lock_holder(fmt::format("{}/lock", directory_), slot_of_add(key));
}

base::FileLock AttachmentStore::lock_commit(const AttachmentKey& key, const base::Deadline& deadline) const {
    return lock_file("devices.lock", base::hash64(fmt::format("commit {}", locked_as(key).file_name())),
                     fmt::format("the commit of the attachment ({})", key), deadline);
}

std::optional<std::string> AttachmentStore::find_recall(const AttachmentKey& key) const {
    return base::read_file_if_exists(recall_path(directory_, key), kMostBytes);
}

void AttachmentStore::save_recall(const AttachmentKey& key, const std::string& whom) const {
    remove_recall(key);
    change([&] { base::create_file_durably(recall_path(directory_, key), whom); });
}

void AttachmentStore::remove_recall(const AttachmentKey& key) const {
    change([&] { base::remove_file_durably(recall_path(directory_, key)); });
}

std::vector<AttachmentKey> AttachmentStore::list_recalled() const {
    Directory directory(attachments_in(directory_));
    std::vector<AttachmentKey> keys;
    for (const auto& [name, inode] : directory.files(kRecallSuffix))
        if (auto key = AttachmentKey::parse_file_name(name.substr(0, name.size() - kRecallSuffix.size())))
            keys.push_back(*std::move(key));
    return keys;
}

base::FileLock AttachmentStore::lock_parent(unsigned ifindex, const std::string& name,
                                            const base::Deadline& deadline) const {
    return lock_file("parents.lock", ifindex, fmt::format("the lock of parent \"{}\"", name), deadline);
}

base::FileLock AttachmentStore::lock_device(const std::string& device, const base::Deadline& deadline) const {
    return lock_file("devices.lock", base::hash64(device), fmt::format("the lock of device {}", device), deadline);
}

base::FileLock AttachmentStore::lock_addresses(const base::Deadline& deadline) const {
    return lock_file("addresses.lock", 0, "the lock of noted addresses", deadline);
}

base::FileLock AttachmentStore::lock_rdma(const base::Deadline& deadline) const {
    return lock_file("rdma.lock", 0, "the lock of RDMA device moves (a node makes one at a time)", deadline);
}

LoadOutcome AttachmentStore::load(const AttachmentKey& key) const {
    return load_from(Directory(attachments_in(directory_)), key.file_name());
}

AttachmentStore::Listing AttachmentStore::list() const {
    Directory directory(attachments_in(directory_));
    Listing listing;
    for (const auto& [name, inode] : directory.files(".json")) {
        LoadOutcome outcome = look_at(directory, name);
        if (auto* record = std::get_if<AttachmentRecord>(&outcome)) listing.records.push_back(std::move(*record));
        if (auto* unreadable = std::get_if<Unreadable>(&outcome)) listing.unreadable.push_back(std::move(*unreadable));
    }
    return listing;
}

std::vector<AttachmentRecord> AttachmentStore::list_about(const std::string& topic, const std::string& but_not) const {
    constexpr std::size_t kMostUnknown = 16; // with fewer new records, reading them again is cheaper than a new index
    Directory directory(attachments_in(directory_));
    const Files files = directory.files(".json");
    const bool has_index = RecordIndex::is_possible_in(attachments_in(directory_));
    const RecordIndex known = has_index ? RecordIndex::load(directory_) : RecordIndex();
    RecordIndex present;
    std::size_t unknown = 0;
    std::vector<AttachmentRecord> records;
    for (const auto& [name, inode] : files) {
        const bool is_known = known.knows(name, inode);
        if (is_known) present.copy_from(known, name);
        if (is_known && (!known.is_about(topic, name) || known.is_about(but_not, name))) continue;
        LoadOutcome outcome = look_at(directory, name);
        auto* record = std::get_if<AttachmentRecord>(&outcome);
        if (record == nullptr) continue;
        if (!is_known) {
            present.put(name, inode, *record);
            ++unknown;
        }
        if (is_about(*record, topic) && !is_about(*record, but_not)) records.push_back(std::move(*record));
    }
    if (has_index && unknown >= kMostUnknown && access_ == Access::change) present.save_if_possible(directory_);
    return records;
}

std::string AttachmentStore::link_of(const std::string& space, const base::IpAddress& address) const {
    return fmt::format("{}/addresses/{:016x}-{}", directory_, base::hash64(space), address);
}

bool AttachmentStore::note_address(const std::string& space, const base::IpAddress& address,
                                   const AttachmentKey& key) const {
    constexpr int kMostTries = 3; // others make the directory, or forget the address
    const std::string link = link_of(space, address);
    const std::string file = key.file_name();
    for (int attempt = 0; attempt < kMostTries; ++attempt) {
        if (::symlink(file.c_str(), link.c_str()) == 0) return true;
        if (errno == ENOENT)
            (void)::mkdir(fmt::format("{}/addresses", directory_).c_str(), S_IRWXU);
        else if (const std::string holder = base::link_target_of(link); !holder.empty())
            return holder == file;
    }
    return true;
}

void AttachmentStore::forget_address(const std::string& space, const base::IpAddress& address,
                                     const AttachmentKey& key) const {
    const std::string link = link_of(space, address);
    if (base::link_target_of(link) == key.file_name()) (void)::unlink(link.c_str()); // what stays is stale
}

void AttachmentStore::forget_note(const std::string& space, const base::IpAddress& address) const {
    (void)::unlink(link_of(space, address).c_str());
}

std::optional<AttachmentRecord> AttachmentStore::find_with_address(const std::string& space,
                                                                   const base::IpAddress& address) const {
    const std::string file = base::link_target_of(link_of(space, address));
    if (file.empty()) return std::nullopt;
    auto outcome = load_from(Directory(attachments_in(directory_)), file);
    auto* const record = std::get_if<AttachmentRecord>(&outcome);
    if (record == nullptr) return std::nullopt;
    const bool has_it = std::any_of(record->leases.begin(), record->leases.end(), [&](const RecordedLease& lease) {
        const auto prefix = base::IpPrefix::parse(lease.address);
        return lease.space == space && prefix && prefix->address() == address;
    });
    return has_it ? std::optional(std::move(*record)) : std::nullopt;
}

void AttachmentStore::save(const AttachmentRecord& record) const {
    const std::string path = fmt::format("{}/{}", attachments_in(directory_), record.key.file_name());
    // A new record is written without a temporary file: if this is killed, nothing would remove that file later.
    const bool is_new = ::access(path.c_str(), F_OK) != 0;
    change([&] {
        is_new ? base::create_file_durably(path, record.to_text()) : base::write_file_durably(path, record.to_text());
    });
}

void AttachmentStore::remove(const AttachmentKey& key) const {
    const std::string path = fmt::format("{}/{}", attachments_in(directory_), key.file_name());
    change([&] { base::remove_file_durably(fmt::format("{}.tmp", path)); });
    change([&] { base::remove_file_durably(path); });
    remove_recall(key); // its ADD has no record any more
}

} // namespace rdmanet::state
