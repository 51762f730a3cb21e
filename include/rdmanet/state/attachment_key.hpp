// What names an attachment (CNI specification 0.4.0 and later: network name, container ID, interface name).
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::state {

/// Role of an entry of a network configuration list that moves the RDMA device of an earlier entry's interface.
inline constexpr const char* kRdmaRole = "rdma";
/// Role of an attachment whose interface is another plugin's: this one is its IPAM plugin.
inline constexpr const char* kIpamRole = "ipam";

struct AttachmentKey {
    std::string network;
    std::string container_id;
    std::string ifname;
    /// Several records of one attachment: empty for the one that has the interface. Earlier versions wrote that of the
    /// IPAM plugin without a role, too.
    std::string role{};

    /// The key of the same attachment's record in another role.
    [[nodiscard]] AttachmentKey with_role(std::string other) const;
    /// Leases are the attachment's: the record of the interface and that of the IPAM plugin name the same.
    [[nodiscard]] bool has_leases() const { return role != kRdmaRole; }

    /// `network "a", container "b", interface "net1"`, for messages.
    [[nodiscard]] std::string to_string() const;

    /// "CONTAINER:IFNAME:NETWORK.json", or "CONTAINER:IFNAME:NETWORK:ROLE.json". None of them may contain ':' (CNI
    /// character rules), so it is unambiguous.
    [[nodiscard]] std::string file_name() const;
    /// The key that has this file_name(); nullopt if none has.
    [[nodiscard]] static std::optional<AttachmentKey> parse_file_name(std::string_view name);

    friend auto operator<=>(const AttachmentKey&, const AttachmentKey&) = default;
};

/// Longest file_name() that can be stored: NAME_MAX less the suffix of the temporary file that precedes it.
inline constexpr std::size_t kLongestFileName = 255 - 4;

} // namespace rdmanet::state
