// Where attachment records live:
//
//   STATE_DIR/                              /run/rdmanet unless configured; empty after a reboot
//     attachments/
//       CONTAINER:IFNAME:NETWORK.json       one record; with a role, NETWORK:ROLE.json
//       CONTAINER:IFNAME:NETWORK.json.tmp   being written, or left by a writer that was killed
//       CONTAINER:IFNAME:NETWORK.json.del   a DEL has recalled the ADD that is named in it
//     lock                                  one byte range per attachment, see base::FileLock
//     parents.lock                          one byte range per parent
//     pools.lock                            one byte range per pool of the cluster (module cluster)
//     addresses.lock                        held while a dead attachment's address is taken over
//     devices.lock                          one byte range per device, and one per attachment for its commit
//     rdma.lock                             moves of RDMA devices, and rdma-names.json
//     addresses/HASH-ADDRESS                a link to the record that has the address; a stale one says nothing
//     rdma-names.json                       names of RDMA devices that wait to be restored, see WaitingNames
//     records.index                         topics of the records, a cache (src/state/record_index.hpp)
//     rdma-names.json.tmp, records.index.tmp  as above; the next writer takes it
//     leases                                the leases of the node's own store (module ipam)
//     blocks                                leases in blocks of the cluster, and which blocks these are (module ipam)
//     cluster-*                             what is known of a cluster in this boot (module leases); a cache
//     clusters.lock                         held while a cluster is asked for what a boot before this one has left
//     blocks.lock                           held around requests for blocks (module cluster)
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/state/attachment_record.hpp>
#include <rdmanet/state/waiting_names.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rdmanet::state {

/// A record that exists and cannot be used: incomplete, damaged, or written by a newer version.
struct Unreadable {
    std::string path;
    std::string reason;
    std::optional<AttachmentKey> key{}; // whose record it should be, by its file name
};
struct NoRecord {};
using LoadOutcome = std::variant<NoRecord, AttachmentRecord, Unreadable>;

/// look: the locks do nothing and create no files, so nobody has to wait. What is read may be out of date.
/// undo: works also if the state directory is read-only or full, because nobody can begin an ADD then.
enum class Access : std::uint8_t { change, undo, look };

class AttachmentStore {
public:
    /// Creates nothing yet, so that commands that only read leave a node without state unchanged. Everything that locks
    /// or writes, also WaitingNames, throws DirectoryError if the state directory is the cause, and SystemError for
    /// other causes.
    explicit AttachmentStore(std::string state_directory, Access access = Access::change);

    /// The attachment's lock for ADD, DEL, CHECK and GC, between processes. The IPAM role has the same lock as the
    /// interface. Throws TimeoutError that names the holder.
    [[nodiscard]] base::FileLock lock(const AttachmentKey& key, const base::Deadline& deadline) const;

    /// The lock of a parent: held while its children are looked at and a new one is recorded. Taken after the
    /// attachment's lock. Throws TimeoutError that names the holder.
    [[nodiscard]] base::FileLock lock_parent(unsigned ifindex, const std::string& name,
                                             const base::Deadline& deadline) const;

    /// The lock of a device: held while its owner is looked for and the new owner is recorded. As above.
    [[nodiscard]] base::FileLock lock_device(const std::string& device, const base::Deadline& deadline) const;

    /// lock() for an ADD. find_add() finds the ADD until it has committed, also while it undoes itself.
    [[nodiscard]] base::FileLock lock_for_add(const AttachmentKey& key, const base::Deadline& deadline) const;
    void show_committed(const AttachmentKey& key, base::FileLock& lock) const;
    /// The PID of the process whose ADD of the attachment has not committed; 0 if the process is in a PID namespace
    /// that we cannot see; nullopt if there is none. The caller must not hold the lock of an attachment.
    [[nodiscard]] std::optional<std::int64_t> find_add(const AttachmentKey& key) const;

    /// Keeps an ADD that commits and a DEL that recalls it apart. Held only for moments. The caller must not hold the
    /// lock of a device. Throws as above.
    [[nodiscard]] base::FileLock lock_commit(const AttachmentKey& key, const base::Deadline& deadline) const;

    // A recall tells a running ADD of the attachment to undo itself, because a DEL could not get the lock. It is
    // changed under lock_commit(), and removed with the record.

    [[nodiscard]] std::optional<std::string> find_recall(const AttachmentKey& key) const;
    void save_recall(const AttachmentKey& key, const std::string& whom) const;
    void remove_recall(const AttachmentKey& key) const;
    [[nodiscard]] std::vector<AttachmentKey> list_recalled() const;

    /// The lock of all moves of RDMA devices on the node. The kernel chooses new numbers for their character devices
    /// at each move, so moves must not overlap. Not held together with
    /// those of the leases. Throws TimeoutError that names the holder.
    [[nodiscard]] base::FileLock lock_rdma(const base::Deadline& deadline) const;

    /// Throws SystemError if the file cannot be read: it may hold a good record, which must not be lost.
    [[nodiscard]] LoadOutcome load(const AttachmentKey& key) const;

    struct Listing {
        std::vector<AttachmentRecord> records;
        std::vector<Unreadable> unreadable;
    };
    /// All records, in the order of their file names. Unlike load(), it does not throw if a file cannot be read, but
    /// lists the file in `unreadable`.
    [[nodiscard]] Listing list() const;

    /// The records with `topic` (rdmanet/state/topic.hpp) and without `but_not`, in the order of their file names.
    /// Reads only these records and those that are newer than the index, so its cost does not grow with the node's
    /// attachments.
    [[nodiscard]] std::vector<AttachmentRecord> list_about(const std::string& topic,
                                                           const std::string& but_not = {}) const;

    // Which attachment has an address, whatever the lease stores say. One system call for each, whatever the number of
    // attachments. `space`: as RecordedLease.

    /// After its record is saved. False: another attachment is noted, and stays so. What can't be noted is in the lease
    /// store alone.
    [[nodiscard]] bool note_address(const std::string& space, const base::IpAddress& address,
                                    const AttachmentKey& key) const;
    /// For forget_note(), which takes the note away from whatever attachment has it.
    [[nodiscard]] base::FileLock lock_addresses(const base::Deadline& deadline) const;
    void forget_note(const std::string& space, const base::IpAddress& address) const;
    /// Unless another attachment has it by now.
    void forget_address(const std::string& space, const base::IpAddress& address, const AttachmentKey& key) const;
    /// nullopt: no record has it that was noted.
    [[nodiscard]] std::optional<AttachmentRecord> find_with_address(const std::string& space,
                                                                    const base::IpAddress& address) const;

    /// Durable: whatever happens, the file holds the old or the new record.
    void save(const AttachmentRecord& record) const;

    /// Removes the record and a temporary file that a killed writer left. Succeeds if there is none.
    void remove(const AttachmentKey& key) const;

    [[nodiscard]] WaitingNames waiting_names() const { return WaitingNames(directory_); }

private:
    [[nodiscard]] std::string link_of(const std::string& space, const base::IpAddress& address) const;
    [[nodiscard]] base::FileLock lock_file(const char* name, std::uint64_t slot, const std::string& what,
                                           const base::Deadline& deadline) const;
    /// Runs `act`, which changes files of records.
    template <class Act>
    void change(const Act& act) const;

    std::string directory_;
    Access access_;
};

} // namespace rdmanet::state
