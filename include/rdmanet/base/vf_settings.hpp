// What a physical function decides about a virtual one, and what several such decisions have to do with each other.
#pragma once

#include <rdmanet/base/guid.hpp>
#include <rdmanet/base/mac_address.hpp>

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

/// Some of a VF's settings: those that are to be changed, or those that the driver tells.
struct VfSettings {
    std::optional<base::MacAddress> mac; // all zero: the PF decides none, the VF chooses
    std::optional<VfVlan> vlan;
    std::optional<VfRates> rates;
    std::optional<bool> spoof_check;
    std::optional<bool> trust;
    std::optional<VfLinkState> link_state;
    // InfiniBand: zero is none decided. A driver may take them when the VF is probed again (mlx5).
    std::optional<base::Guid> node_guid;
    std::optional<base::Guid> port_guid;

    [[nodiscard]] bool empty() const { return *this == VfSettings{}; }
    friend bool operator==(const VfSettings&, const VfSettings&) = default;
};

/// Each setting by itself, for whom one that the driver refuses must not keep from the next.
[[nodiscard]] std::vector<VfSettings> each_of(const VfSettings& settings);

/// Those of `wanted` that differ from `present`; what the driver doesn't tell counts as different.
[[nodiscard]] VfSettings difference(const VfSettings& wanted, const VfSettings& present);
/// Those of `present` that `changed` has as well: what has to be put back after the change.
[[nodiscard]] VfSettings restrict_to(const VfSettings& present, const VfSettings& changed);

/// Those of `asked` that are `now` as they were `before`, although the driver has taken the request for them without
/// an error. No limit of rates is not among them: some drivers tell the port's speed then (qed, qed_sriov.c).
[[nodiscard]] VfSettings ignored(const VfSettings& asked, const VfSettings& before, const VfSettings& now);

/// Of what the kernel answers, what the driver must have told, and tells at once: without what stands there for a
/// driver that tells nothing (rtnl_fill_vfinfo(), net/core/rtnetlink.c), and without the spoof check, which for some
/// changes when the VF comes up (qed_iov_spoofchk_set(), drivers/net/ethernet/qlogic/qed/qed_sriov.c).
[[nodiscard]] VfSettings surely_told(const VfSettings& present);

/// Those of `wanted`, and of `left` the others, that are `present` neither as wanted nor as they were left. What the
/// driver doesn't tell is not lost.
[[nodiscard]] VfSettings lost(const VfSettings& wanted, const VfSettings& left, const VfSettings& present);

/// "vlan 100 qos 3", "mac 02:00:00:00:00:01, trust on": for messages.
[[nodiscard]] std::string to_string(const VfSettings& settings);
[[nodiscard]] std::string_view to_string(VfLinkState state);
[[nodiscard]] std::string_view to_string(VlanProtocol protocol);

} // namespace rdmanet::base
