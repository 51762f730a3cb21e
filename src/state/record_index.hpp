// What the records are about, in one file: who looks for the owner of a device opens that one file, and not those of
// all attachments of the node. A cache: nothing is lost with it.
//
//   STATE_DIR/records.index
//     rdmanet-records-index 1 HASH       of all that follows
//     INODE NAME TOPIC...                NAME: of the record's file; TOPIC: hash of one of AttachmentRecord::topics()
//
// A record is never changed in place: what is new has a new inode. Only tmpfs never gives an inode number again
// (mm/shmem.c, shmem_reserve_inode()), and so there is no index on other file systems.
#pragma once

#include <rdmanet/state/attachment_record.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::state {

class RecordIndex {
public:
    /// Empty if there is none, it is damaged, or another version wrote it.
    [[nodiscard]] static RecordIndex load(const std::string& directory);
    /// Whether inode numbers of the directory's files tell one content from another.
    [[nodiscard]] static bool is_possible_in(const std::string& directory);

    [[nodiscard]] bool knows(const std::string& name, std::uint64_t inode) const;
    /// Of a file that it knows.
    [[nodiscard]] bool is_about(std::string_view topic, const std::string& name) const;
    void put(const std::string& name, std::uint64_t inode, const AttachmentRecord& record);
    /// Takes over what `other` knows of this file.
    void copy_from(const RecordIndex& other, const std::string& name);

    /// Without a lock: what two writers at once leave is either one's, or damaged and not used.
    void save_if_possible(const std::string& directory) const noexcept;

private:
    struct Entry {
        std::uint64_t inode = 0;
        std::vector<std::uint64_t> topics;
    };
    [[nodiscard]] static RecordIndex parse(std::string_view text);
    [[nodiscard]] std::string to_text() const;

    std::map<std::string, Entry, std::less<>> entries_;
};

} // namespace rdmanet::state
