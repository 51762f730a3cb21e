// What a physical function decides about its virtual functions, over rtnetlink (linux/if_link.h, IFLA_VF_*).
#pragma once

#include <rdmanet/base/vf_settings.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::kernel {

using base::difference;
using base::each_of;
using base::ignored;
using base::lost;
using base::restrict_to;
using base::surely_told;
using base::to_string;
using base::VfLinkState;
using base::VfRates;
using base::VfSettings;
using base::VfVlan;
using base::VlanProtocol;

/// A VF by its PF's net device, in the socket's namespace, and its number there.
struct VfId {
    unsigned pf_ifindex = 0;
    std::string pf; // name of the net device, for messages
    unsigned number = 0;

    /// "VF 3 of "eth0"", for messages.
    [[nodiscard]] std::string to_string() const;
};

/// nullopt if the PF has no such VF, or is gone. Throws NetlinkError; EMSGSIZE: more VFs than an answer can hold, about
/// 220.
[[nodiscard]] std::optional<VfSettings> find_vf(Socket& route, const VfId& vf);

/// Sets what `wanted` has, each in a request of its own: an error names the one that the driver refused, and those
/// before it are set. A driver that is busy (EBUSY, EAGAIN) is asked again until the socket's deadline, at most two
/// seconds. Throws NetlinkError.
void change_vf(Socket& route, const VfId& vf, const VfSettings& wanted);

/// Of what the driver tells, what somebody has set: without a highest rate that is the port's speed, which some drivers
/// tell where there is none (qed_iov.c, liquidio's lio_main.c) and which changes with the link. Reads the speed.
[[nodiscard]] VfSettings without_port_speed(const VfSettings& present, const VfId& vf);

/// The command that sets them: "ip link set eth0 vf 3 vlan 100 qos 3 trust on".
[[nodiscard]] std::string to_command(const VfSettings& settings, const VfId& vf);
} // namespace rdmanet::kernel
