// Where attachment records live:
//
//   STATE_DIR/                              /run/rdmanet unless configured; gone after a reboot, like what it describes
//     attachments/
//       CONTAINER:IFNAME:NETWORK.json       one record
//       CONTAINER:IFNAME:NETWORK.json.tmp   being written, or left by a writer that was killed
//       CONTAINER:IFNAME:NETWORK.json.del   a DEL has recalled the ADD that is named in it
//     lock                                  one byte range per attachment, see base::FileLock
//     parents.lock                          one byte range per parent
//     devices.lock                          one byte range per device, and one per attachment for its commit
//     rdma.lock                             moves of RDMA devices, and rdma-names.json
//     rdma-names.json                       names that RDMA devices wait for, see OwedNames
//     records.index                         what the records are about, a cache (src/state/record_index.hpp)
//     rdma-names.json.tmp, records.index.tmp  as above; the next writer takes it
//     leases.sqlite                         the embedded lease store (room ipam)
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/state/attachment_record.hpp>
#include <rdmanet/state/owed_names.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rdmanet::state {

/// A record that is there and can't be used: cut short, damaged, or written by a newer version.
struct Unreadable {
    std::string path;
    std::string reason;
    std::optional<AttachmentKey> key{}; // whose record it should be, by its file name
};
struct NoRecord {};
using LoadOutcome = std::variant<NoRecord, AttachmentRecord, Unreadable>;

/// Who only looks keeps nobody waiting: the locks hold nothing, and no file of theirs is made. What is seen may be
/// old by the time that it is told. Who only undoes goes on where the state directory is read-only or full: nobody
/// who needs to write can begin anything.
enum class Access : std::uint8_t { change, undo, look };

class AttachmentStore {
public:
    /// Creates nothing yet: reading commands leave a node without state untouched.
    AttachmentStore(std::string state_directory, ReadStep read_step, Access access = Access::change);

    /// Serialises ADD, DEL, CHECK and GC of one attachment over processes: in the role of an IPAM plugin it is the same
    /// lock as that of the interface. Throws TimeoutError naming the holder.
    [[nodiscard]] base::FileLock lock(const AttachmentKey& key, const base::Deadline& deadline) const;

    /// Serialises over processes what looks at the children of a parent before it makes one. Taken after the
    /// attachment's lock. Throws TimeoutError naming the holder.
    [[nodiscard]] base::FileLock lock_parent(unsigned ifindex, const std::string& name,
                                             const base::Deadline& deadline) const;

    /// Serialises over processes what asks whose a device is before it takes it. As above.
    [[nodiscard]] base::FileLock lock_device(const std::string& device, const base::Deadline& deadline) const;

    /// The same for an ADD, which find_add() finds until it has committed. Undoing itself it is found as well.
    [[nodiscard]] base::FileLock lock_for_add(const AttachmentKey& key, const base::Deadline& deadline) const;
    void show_committed(const AttachmentKey& key, base::FileLock& lock) const;
    /// The process whose ADD of the attachment has not committed, as this one numbers it: 0 if it can't see that one,
    /// nullopt if there is none. The caller must have no attachment's lock.
    [[nodiscard]] std::optional<std::int64_t> find_add(const AttachmentKey& key) const;

    /// Between an ADD that commits and a DEL that recalls it: held for moments. The caller must have no device's lock.
    /// As above.
    [[nodiscard]] base::FileLock lock_commit(const AttachmentKey& key, const base::Deadline& deadline) const;

    // A recall tells one ADD of the attachment, whose lock a DEL could not get, to undo itself. It is changed under
    // lock_commit(), and removed with the record. It need not outlive this boot's processes.

    [[nodiscard]] std::optional<std::string> find_recall(const AttachmentKey& key) const;
    void save_recall(const AttachmentKey& key, const std::string& whom) const;
    void remove_recall(const AttachmentKey& key) const;
    [[nodiscard]] std::vector<AttachmentKey> list_recalled() const;

    /// Serialises moves of RDMA devices on the whole node: the kernel draws the numbers of their character devices anew
    /// each time. The last lock to be taken. Throws TimeoutError naming the holder.
    [[nodiscard]] base::FileLock lock_rdma(const base::Deadline& deadline) const;

    /// Throws SystemError if the file can't be read: it may hold a good record, that must not be given up.
    [[nodiscard]] LoadOutcome load(const AttachmentKey& key) const;

    struct Listing {
        std::vector<AttachmentRecord> records;
        std::vector<Unreadable> unreadable;
    };
    /// All records as load() finds them, in the order of their file names. For looking: a file that can't be read is
    /// among the unreadable.
    [[nodiscard]] Listing list() const;

    /// The records about `topic` (rdmanet/state/topic.hpp) and not about `but_not`, in the order of their file names.
    /// Opens their files and those that are new since the index was written, however many attachments the node has.
    [[nodiscard]] std::vector<AttachmentRecord> list_about(const std::string& topic,
                                                           const std::string& but_not = {}) const;

    /// Durable: the file is the old or the new record whatever happens. Throws SystemError.
    void save(const AttachmentRecord& record) const;

    /// Removes the record and what a killed writer left of it. Absence is success.
    void remove(const AttachmentKey& key) const;

    [[nodiscard]] OwedNames owed_names() const { return OwedNames(directory_); }

private:
    [[nodiscard]] base::FileLock lock_file(const char* name, std::uint64_t slot, const std::string& what,
                                           const base::Deadline& deadline) const;

    std::string directory_;
    ReadStep read_step_;
    Access access_;
};

} // namespace rdmanet::state
