// The MAC address of an attachment for which nobody chose one.
#pragma once

#include <rdmanet/base/mac_address.hpp>
#include <rdmanet/state/attachment_key.hpp>

#include <string_view>

namespace rdmanet::attach {

/// The same for one attachment until the node reboots, and different for other attachments and nodes. It is 46 bits
/// of a hash of the boot ID and the attachment's key. The boot ID is random on each node; a machine ID may be copied
/// with a disk image. The address is unicast and locally administered (IEEE 802c, any SLAP quadrant).
[[nodiscard]] base::MacAddress derive_mac(std::string_view boot_id, const state::AttachmentKey& key);

} // namespace rdmanet::attach
