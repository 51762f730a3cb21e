// The topics by which AttachmentStore::list_about() finds records.
#pragma once

#include <string>
#include <string_view>

namespace rdmanet::state {

/// The attachment has this device, or a part of it. `device` is its bus address.
[[nodiscard]] std::string device_topic(std::string_view device);
/// The attachment has a child of this interface on the host.
[[nodiscard]] std::string parent_topic(unsigned ifindex);
/// The same, and the child is of this kind and mode.
[[nodiscard]] std::string child_topic(unsigned parent_ifindex, std::string_view kind, std::string_view mode);
/// The attachment has written a device-info file with this name, in any directory.
[[nodiscard]] std::string device_info_topic(std::string_view file_name);

/// The attachment owes addresses to a store that the cluster shares.
inline constexpr const char* kOwedAddressesTopic = "owes addresses";

} // namespace rdmanet::state
