// Names that RDMA devices on the host had before their pods, and that other devices have now. They hold nothing: the
// attachments are gone, and the devices are free for the next pods.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rdmanet::state {

struct OwedName {
    std::string device;          // bus address
    std::uint32_t index = 0;     // of the RDMA device: not used again until a reboot
    std::uint64_t node_guid = 0; // guards the index
    std::string name;
};

/// STATE_DIR/rdma-names.json. Whoever changes it holds AttachmentStore::lock_rdma().
class OwedNames {
public:
    explicit OwedNames(const std::string& state_directory);

    /// Whether anything is owed, or was before the last reboot.
    [[nodiscard]] bool exist() const;

    /// Of this boot; indices of another one mean nothing. Throws base::Error for a file that can't be read or is damaged.
    [[nodiscard]] std::vector<OwedName> load(const std::string& boot_id) const;

    /// Durable; no names, no file. Throws base::SystemError.
    void save(const std::vector<OwedName>& names, const std::string& boot_id) const;

private:
    std::string path_;
};

} // namespace rdmanet::state
