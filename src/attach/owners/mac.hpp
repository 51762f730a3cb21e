// The MAC address of an attachment that nobody chose one for.
#pragma once

#include <rdmanet/base/mac_address.hpp>
#include <rdmanet/state/attachment_key.hpp>

#include <string_view>

namespace rdmanet::attach {

/// The same for the same attachment as long as the node runs, different for every other attachment and node: 46 bits
/// of a hash over the boot ID, which is random per node and boot (machine IDs are copied with disk images), and the
/// attachment's key. Unicast and locally administered (IEEE 802c, SLAP quadrant left alone).
[[nodiscard]] base::MacAddress derive_mac(std::string_view boot_id, const state::AttachmentKey& key);

} // namespace rdmanet::attach
