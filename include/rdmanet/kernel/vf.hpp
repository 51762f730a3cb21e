// The settings of virtual functions, which their physical function decides, over rtnetlink (linux/if_link.h,
// IFLA_VF_*).
#pragma once

#include <rdmanet/base/interface_name.hpp>
#include <rdmanet/base/vf_settings.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/link.hpp>
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

/// A VF: the net device of its PF, in the socket's namespace, and the VF's number.
struct VfId {
    unsigned pf_ifindex = 0;
    std::string pf; // the net device's name, for messages
    unsigned number = 0;

    /// "VF 3 of "eth0"", for messages.
    [[nodiscard]] std::string to_string() const;
};

/// nullopt if the PF has no such VF, or is gone. Throws NetlinkError. EMSGSIZE: more VFs than an answer can hold,
/// about 220.
[[nodiscard]] std::optional<VfSettings> find_vf(Socket& route, const VfId& vf);

struct PfWithVf {
    Link pf;
    std::optional<VfSettings> vf; // nullopt if the PF reports no such VF
};
/// A PF's net device and one of its VFs, by one request. nullopt if there is no such net device. Throws as find_vf().
[[nodiscard]] std::optional<PfWithVf> find_pf_with_vf(Socket& route, const base::InterfaceName& pf, unsigned number);

struct ReportedVf {
    std::optional<VfOf> of; // nullopt before Linux 5.14 (IFLA_PARENT_DEV_NAME)
    VfSettings settings;
};
/// The VFs of all PFs with a net device in the socket's namespace, by one dump. Throws as find_vf(): a PF with too many
/// VFs ends the whole dump.
[[nodiscard]] std::vector<ReportedVf> list_reported_vfs(Socket& route);

/// Sets each setting of `wanted` in a request of its own: the error names the setting that the driver refused, and
/// the earlier ones are set. A busy driver (EBUSY, EAGAIN) is asked again until the socket's deadline, but at most
/// for two seconds. Throws NetlinkError.
void change_vf(Socket& route, const VfId& vf, const VfSettings& wanted);

/// The reported settings that were set by somebody. Some drivers report the port's speed, which changes with the
/// link, as the highest rate if none is set (qed_iov.c, liquidio's lio_main.c). That one is left out. Reads the
/// speed.
[[nodiscard]] VfSettings without_port_speed(const VfSettings& present, const VfId& vf);

/// The command that applies the settings: "ip link set eth0 vf 3 vlan 100 qos 3 trust on".
[[nodiscard]] std::string to_command(const VfSettings& settings, const VfId& vf);
} // namespace rdmanet::kernel
