// One file with the topics of all records. To find the owner of a device, only this file is read, and not all records
// of the node. It is a cache: nothing is lost with it.
//
//   STATE_DIR/records.index
//     rdmanet-records-index 3 HASH       of all that follows
//     INODE NAME TOPIC...                NAME: of the record's file; TOPIC: hash of one of AttachmentRecord::topics()
//
// A record is never changed in place: a changed record has a new inode. Only tmpfs never uses an inode number again
// (shmem_reserve_inode(), mm/shmem.c), so there is no index on other file systems.
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
    /// Whether the directory's file system never uses an inode number again.
    [[nodiscard]] static bool is_possible_in(const std::string& directory);

    [[nodiscard]] bool knows(const std::string& name, std::uint64_t inode) const;
    /// Whether the record in this file, which the index knows, has the topic.
    [[nodiscard]] bool is_about(std::string_view topic, const std::string& name) const;
    void put(const std::string& name, std::uint64_t inode, const AttachmentRecord& record);
    /// Copies the entry of this file from `other`.
    void copy_from(const RecordIndex& other, const std::string& name);

    /// Takes no lock. Of two writers at once one wins, or the index is damaged and then not used.
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
