// The key of an attachment: network name, container ID and interface name (CNI specification 0.4.0 and later).
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::state {

/// Role of a list entry with "attach": "rdma", which moves the RDMA device of an earlier entry's interface.
inline constexpr const char* kRdmaRole = "rdma";
/// Role of an attachment whose interface another plugin made, with rdmanet as its IPAM plugin.
inline constexpr const char* kIpamRole = "ipam";

struct AttachmentKey {
    std::string network;
    std::string container_id;
    std::string ifname;
    /// An attachment may have several records. The role is empty for the record that has the interface.
    std::string role{};

    /// The key of the same attachment's record in another role.
    [[nodiscard]] AttachmentKey with_role(std::string other) const;
    /// Whether records in this role have leases. The records of the interface and of the IPAM plugin have the same
    /// leases.
    [[nodiscard]] bool has_leases() const { return role != kRdmaRole; }

    /// `network "a", container "b", interface "net1"`, for messages.
    [[nodiscard]] std::string to_string() const;

    /// "CONTAINER:IFNAME:NETWORK.json", or "CONTAINER:IFNAME:NETWORK:ROLE.json". It is unambiguous, because the CNI
    /// specification allows ':' in none of them.
    [[nodiscard]] std::string file_name() const;
    /// The key that has this file_name(); nullopt if none has.
    [[nodiscard]] static std::optional<AttachmentKey> parse_file_name(std::string_view name);

    friend auto operator<=>(const AttachmentKey&, const AttachmentKey&) = default;
};

/// Longest file_name() that can be stored: NAME_MAX less the suffix of the temporary file that precedes it.
inline constexpr std::size_t kLongestFileName = 255 - 4;

} // namespace rdmanet::state
