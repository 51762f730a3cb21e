// The settings of a virtual function (VF) that its physical function (PF) decides, and how sets of them are compared.
#pragma once

#include <rdmanet/base/guid.hpp>
#include <rdmanet/base/mac_address.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::base {

/// IFLA_VF_LINK_STATE_*.
enum class VfLinkState : std::uint32_t { automatic = 0, enable = 1, disable = 2 };
/// Ethernet types of a tag (linux/if_ether.h).
enum class VlanProtocol : std::uint16_t { dot1q = 0x8100, dot1ad = 0x88a8 };

struct VfVlan {
    std::uint16_t id = 0; // 0: no tag
    std::uint8_t qos = 0; // 0 to 7
    VlanProtocol protocol = VlanProtocol::dot1q;

    friend bool operator==(const VfVlan&, const VfVlan&) = default;
};

/// 0: no limit.
struct VfRates {
    std::uint32_t least_mbps = 0;
    std::uint32_t most_mbps = 0;

    friend bool operator==(const VfRates&, const VfRates&) = default;
};

/// Some of a VF's settings: the ones to change, or the ones that the driver reports.
struct VfSettings {
    std::optional<base::MacAddress> mac; // all zero: the PF decides none, the VF chooses
    std::optional<VfVlan> vlan;
    std::optional<VfRates> rates;
    std::optional<bool> spoof_check;
    std::optional<bool> trust;
    std::optional<VfLinkState> link_state;
    // InfiniBand: zero means that none is set. Some drivers apply a GUID only when the VF is probed again (mlx5).
    std::optional<base::Guid> node_guid;
    std::optional<base::Guid> port_guid;

    [[nodiscard]] bool empty() const { return *this == VfSettings{}; }
    friend bool operator==(const VfSettings&, const VfSettings&) = default;
};

/// Splits `settings` into one value per setting, so that a refused one does not prevent the others from being
/// applied.
[[nodiscard]] std::vector<VfSettings> each_of(const VfSettings& settings);

/// The settings of `wanted` that differ from `present`. A setting that the driver does not report counts as
/// different.
[[nodiscard]] VfSettings difference(const VfSettings& wanted, const VfSettings& present);
/// The settings of `present` that `changed` sets as well: what must be restored after the change.
[[nodiscard]] VfSettings restrict_to(const VfSettings& present, const VfSettings& changed);

/// The settings of `asked` that the driver accepted without an error and did not apply: `now` they are what they were
/// `before`. "No rate limit" is left out, because some drivers report the port's speed instead (qed, qed_sriov.c).
[[nodiscard]] VfSettings ignored(const VfSettings& asked, const VfSettings& before, const VfSettings& now);

/// The settings of `present` that the driver surely reports, and reports at once. Left out are values that the kernel
/// also shows for a driver that reports nothing (rtnl_fill_vfinfo(), net/core/rtnetlink.c), and the spoof check,
/// which some drivers change when the VF comes up (qed_iov_spoofchk_set(),
/// drivers/net/ethernet/qlogic/qed/qed_sriov.c).
[[nodiscard]] VfSettings surely_told(const VfSettings& present);

/// Settings whose `present` value is neither the one that `wanted` has nor the one that `left` has. A setting that
/// the driver does not report is not lost.
[[nodiscard]] VfSettings lost(const VfSettings& wanted, const VfSettings& left, const VfSettings& present);

/// "vlan 100 qos 3", "mac 02:00:00:00:00:01, trust on": for messages.
[[nodiscard]] std::string to_string(const VfSettings& settings);
[[nodiscard]] std::string_view to_string(VfLinkState state);
[[nodiscard]] std::string_view to_string(VlanProtocol protocol);
[[nodiscard]] constexpr std::array<VfLinkState, 3> enumerators(VfLinkState /*type*/) {
    return {VfLinkState::automatic, VfLinkState::enable, VfLinkState::disable};
}
[[nodiscard]] constexpr std::array<VlanProtocol, 2> enumerators(VlanProtocol /*type*/) {
    return {VlanProtocol::dot1q, VlanProtocol::dot1ad};
}

} // namespace rdmanet::base
