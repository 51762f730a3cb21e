// Names that RDMA devices on the host had before their pods, and that cannot be restored yet because other devices
// have them. They hold nothing: the attachments are gone, and the devices are free for the next pods.
#pragma once

#include <rdmanet/state/fields.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rdmanet::state {

struct WaitingName {
    std::string device;          // bus address
    std::uint32_t index = 0;     // of the RDMA device; not used again until a reboot
    std::uint64_t node_guid = 0; // confirms that the index is still the same device's
    std::string name;

    void fields(Fields& f) { f("device", device)("index", index)("nodeGuid", node_guid)("name", name); }
};

/// The file STATE_DIR/rdma-names.json. To change it, hold AttachmentStore::lock_rdma().
class WaitingNames {
public:
    explicit WaitingNames(const std::string& state_directory);

    /// Whether the file exists. It may be from before the last reboot.
    [[nodiscard]] bool exist() const;

    /// Only names of this boot, because indices change with a reboot. Throws base::Error if the file cannot be read or
    /// is damaged.
    [[nodiscard]] std::vector<WaitingName> load(const std::string& boot_id) const;

    /// Durable. Removes the file if there are no names. Throws as AttachmentStore.
    void save(const std::vector<WaitingName>& names, const std::string& boot_id) const;

private:
    void write(const std::vector<WaitingName>& names, const std::string& boot_id) const;

    std::string directory_;
    std::string path_;
};

} // namespace rdmanet::state
