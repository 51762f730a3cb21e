#include "vf_parse.hpp"

#include "message.hpp"

#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <algorithm>

namespace rdmanet::kernel {
namespace {

base::MacAddress to_mac(const ifla_vf_mac& value) {
    base::MacAddress::Bytes bytes{};
    std::copy_n(value.mac, bytes.size(), bytes.begin());
    return base::MacAddress(bytes);
}

/// InfiniBand PFs say 0 (mlx5_ib_get_vf_config(), drivers/infiniband/hw/mlx5/ib_virt.c), which nobody could set back.
VlanProtocol to_protocol(std::uint16_t in_network_order) {
    return ntohs(in_network_order) == static_cast<std::uint16_t>(VlanProtocol::dot1ad) ? VlanProtocol::dot1ad
                                                                                       : VlanProtocol::dot1q;
}

/// The first entry of the list knows the protocol, IFLA_VF_VLAN doesn't.
std::optional<VfVlan> parse_vlan(const Attributes& vf) {
    const Attributes list = vf.nest(IFLA_VF_VLAN_LIST);
    if (const auto info = list.find_value<ifla_vf_vlan_info>(IFLA_VF_VLAN_INFO))
        return VfVlan{.id = static_cast<std::uint16_t>(info->vlan),
                      .qos = static_cast<std::uint8_t>(info->qos),
                      .protocol = to_protocol(info->vlan_proto)};
    const auto vlan = vf.find_value<ifla_vf_vlan>(IFLA_VF_VLAN);
    if (!vlan) return std::nullopt;
    return VfVlan{.id = static_cast<std::uint16_t>(vlan->vlan), .qos = static_cast<std::uint8_t>(vlan->qos)};
}

/// Drivers that have no such setting leave it at -1.
template <class Value>
std::optional<bool> parse_switch(const std::optional<Value>& value) {
    if (!value || value->setting > 1) return std::nullopt;
    return value->setting == 1;
}

VfSettings parse_settings(const Attributes& vf) {
    VfSettings settings;
    if (const auto mac = vf.find_value<ifla_vf_mac>(IFLA_VF_MAC)) settings.mac = to_mac(*mac);
    settings.vlan = parse_vlan(vf);
    if (const auto rate = vf.find_value<ifla_vf_rate>(IFLA_VF_RATE))
        settings.rates = VfRates{.least_mbps = rate->min_tx_rate, .most_mbps = rate->max_tx_rate};
    settings.spoof_check = parse_switch(vf.find_value<ifla_vf_spoofchk>(IFLA_VF_SPOOFCHK));
    settings.trust = parse_switch(vf.find_value<ifla_vf_trust>(IFLA_VF_TRUST));
    if (const auto state = vf.find_value<ifla_vf_link_state>(IFLA_VF_LINK_STATE);
        state && state->link_state <= IFLA_VF_LINK_STATE_DISABLE)
        settings.link_state = static_cast<VfLinkState>(state->link_state);
    if (const auto guid = vf.find_value<ifla_vf_guid>(IFLA_VF_IB_NODE_GUID))
        settings.node_guid = base::Guid(guid->guid);
    if (const auto guid = vf.find_value<ifla_vf_guid>(IFLA_VF_IB_PORT_GUID))
        settings.port_guid = base::Guid(guid->guid);
    return settings;
}

} // namespace

std::optional<VfSettings> parse_vf(const nlmsghdr& message, unsigned number) {
    const auto parsed = parse_message<ifinfomsg>(message, RTM_NEWLINK);
    if (!parsed) return std::nullopt;
    for (const Bytes bytes : parsed->second.nest(IFLA_VFINFO_LIST).find_all(IFLA_VF_INFO)) {
        const Attributes vf(bytes);
        const auto mac = vf.find_value<ifla_vf_mac>(IFLA_VF_MAC);
        if (mac && mac->vf == number) return parse_settings(vf);
    }
    return std::nullopt;
}

} // namespace rdmanet::kernel
