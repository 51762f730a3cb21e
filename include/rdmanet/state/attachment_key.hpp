// What names an attachment (CNI specification 0.4.0 and later: network name, container ID, interface name).
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::state {

struct AttachmentKey {
    std::string network;
    std::string container_id;
    std::string ifname;
    /// Of several entries of one network configuration list that attach to the same interface: "rdma" for the one that
    /// moves the RDMA device of an earlier one's, empty for the one that has the interface or its addresses.
    std::string role{};

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
