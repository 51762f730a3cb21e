#include <rdmanet/kernel/vf.hpp>

#include "message.hpp"
#include "parse.hpp"

#include <rdmanet/base/directory.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/wait.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace rdmanet::kernel {
namespace {

/// How long a driver may be busy: some (iavf) report that while the VF is being reset.
constexpr std::chrono::seconds kBusyTimeout{2};

ifinfomsg header_of(const VfId& vf) {
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(vf.pf_ifindex);
    return header;
}

bool is_busy(const Answer& answer) {
    return answer.errno_value == EBUSY || answer.errno_value == EAGAIN;
}

/// One attribute of one VF: do_setvfinfo(), net/core/rtnetlink.c.
template <class Put>
void set(Socket& route, const VfId& vf, const std::string& what, const Put& put) {
    Answer answer;
    base::wait_for(route.deadline().at_most(kBusyTimeout), [&] {
        Message request(RTM_SETLINK, NLM_F_ACK, header_of(vf));
        request.nest(IFLA_VFINFO_LIST, [&] { request.nest(IFLA_VF_INFO, [&] { put(request); }); });
        answer = route.ask(request);
        return !is_busy(answer);
    });
    if (answer.errno_value != 0)
        throw NetlinkError(fmt::format("set {} of {}", what, vf), answer.errno_value, answer.kernel_message);
}

ifla_vf_mac mac_value(const VfId& vf, const base::MacAddress& mac) {
    ifla_vf_mac value{};
    value.vf = vf.number;
    std::copy(mac.bytes().begin(), mac.bytes().end(), value.mac);
    return value;
}

void put_vlan(Message& request, const VfId& vf, const VfVlan& vlan) {
    // IFLA_VF_VLAN cannot name a protocol, and drivers take it as 802.1Q.
    if (vlan.protocol == VlanProtocol::dot1q) {
        request.put_value(IFLA_VF_VLAN, ifla_vf_vlan{.vf = vf.number, .vlan = vlan.id, .qos = vlan.qos});
        return;
    }
    request.nest(IFLA_VF_VLAN_LIST, [&] {
        request.put_value(IFLA_VF_VLAN_INFO,
                          ifla_vf_vlan_info{.vf = vf.number,
                                            .vlan = vlan.id,
                                            .qos = vlan.qos,
                                            .vlan_proto = htons(static_cast<std::uint16_t>(vlan.protocol))});
    });
}

base::MacAddress to_mac(const ifla_vf_mac& value) {
    base::MacAddress::Bytes bytes{};
    std::copy_n(value.mac, bytes.size(), bytes.begin());
    return base::MacAddress(bytes);
}

/// InfiniBand PFs report 0 (mlx5_ib_get_vf_config(), drivers/infiniband/hw/mlx5/ib_virt.c), which cannot be set back.
VlanProtocol to_protocol(std::uint16_t in_network_order) {
    return ntohs(in_network_order) == static_cast<std::uint16_t>(VlanProtocol::dot1ad) ? VlanProtocol::dot1ad
                                                                                       : VlanProtocol::dot1q;
}

/// The first entry of the list has the protocol; IFLA_VF_VLAN does not.
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

/// Drivers without the setting leave it at -1.
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

/// Calls `act(number, attributes)` for each VF that the link reports.
template <class Act>
void for_each_vf(const Attributes& link, const Act& act) {
    for (const Bytes bytes : link.nest(IFLA_VFINFO_LIST).find_all(IFLA_VF_INFO)) {
        const Attributes vf(bytes);
        if (const auto mac = vf.find_value<ifla_vf_mac>(IFLA_VF_MAC)) act(mac->vf, vf);
    }
}

Message get_vfs_message(const ifinfomsg& header) {
    Message request(RTM_GETLINK, 0, header);
    request.put_u32(IFLA_EXT_MASK, RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS);
    return request;
}

} // namespace

std::optional<VfSettings> parse_vf(const nlmsghdr& message, unsigned number) {
    const auto parsed = parse_message<ifinfomsg>(message, RTM_NEWLINK);
    std::optional<VfSettings> settings;
    if (parsed)
        for_each_vf(parsed->second, [&](unsigned each, const Attributes& vf) {
            if (each == number && !settings) settings = parse_settings(vf);
        });
    return settings;
}

std::vector<ReportedVf> parse_reported_vfs(const nlmsghdr& message) {
    const auto parsed = parse_message<ifinfomsg>(message, RTM_NEWLINK);
    std::vector<ReportedVf> found;
    if (!parsed) return found;
    const auto pf = base::PciAddress::parse(parsed->second.text(IFLA_PARENT_DEV_NAME));
    for_each_vf(parsed->second, [&](unsigned number, const Attributes& vf) {
        const auto of = pf ? std::optional(VfOf{.pf = *pf, .number = number}) : std::nullopt;
        found.push_back({.of = of, .settings = parse_settings(vf)});
    });
    return found;
}

std::string VfId::to_string() const {
    return fmt::format("VF {} of {}", number, base::quoted(pf));
}

std::optional<VfSettings> find_vf(Socket& route, const VfId& vf) {
    Message request = get_vfs_message(header_of(vf));
    const Answer answer = route.ask(request);
    if (answer.errno_value == ENODEV) return std::nullopt;
    if (answer.errno_value != 0)
        throw NetlinkError(fmt::format("read settings of {}", vf), answer.errno_value, answer.kernel_message);
    return answer.message == nullptr ? std::nullopt : parse_vf(*answer.message, vf.number);
}

std::optional<PfWithVf> find_pf_with_vf(Socket& route, const base::InterfaceName& pf, unsigned number) {
    Message request = get_vfs_message({});
    request.put_text(IFLA_IFNAME, pf.to_string());
    const Answer answer = route.ask(request);
    if (answer.errno_value == ENODEV) return std::nullopt;
    if (answer.errno_value != 0)
        throw NetlinkError(fmt::format("read settings of {}", VfId{.pf = pf.to_string(), .number = number}),
                           answer.errno_value, answer.kernel_message);
    auto link = answer.message == nullptr ? std::nullopt : parse_link(*answer.message);
    if (!link) return std::nullopt;
    return PfWithVf{.pf = *std::move(link), .vf = parse_vf(*answer.message, number)};
}

std::vector<ReportedVf> list_reported_vfs(Socket& route) {
    Message request = get_vfs_message({});
    return route.list<ReportedVf>(request, "list VFs", [](const nlmsghdr& message, std::vector<ReportedVf>& found) {
        for (const ReportedVf& vf : parse_reported_vfs(message)) found.push_back(vf);
    });
}

void change_vf(Socket& route, const VfId& vf, const VfSettings& wanted) {
    const auto only = [](auto member, const auto& value) {
        VfSettings one;
        one.*member = value;
        return to_string(one);
    };
    if (wanted.vlan)
        set(route, vf, only(&VfSettings::vlan, wanted.vlan),
            [&](Message& request) { put_vlan(request, vf, *wanted.vlan); });
    if (wanted.mac)
        set(route, vf, only(&VfSettings::mac, wanted.mac),
            [&](Message& request) { request.put_value(IFLA_VF_MAC, mac_value(vf, *wanted.mac)); });
    if (wanted.rates)
        set(route, vf, only(&VfSettings::rates, wanted.rates), [&](Message& request) {
            request.put_value(IFLA_VF_RATE, ifla_vf_rate{.vf = vf.number,
                                                         .min_tx_rate = wanted.rates->least_mbps,
                                                         .max_tx_rate = wanted.rates->most_mbps});
        });
    if (wanted.spoof_check)
        set(route, vf, only(&VfSettings::spoof_check, wanted.spoof_check), [&](Message& request) {
            request.put_value(IFLA_VF_SPOOFCHK, ifla_vf_spoofchk{.vf = vf.number, .setting = *wanted.spoof_check});
        });
    if (wanted.trust)
        set(route, vf, only(&VfSettings::trust, wanted.trust), [&](Message& request) {
            request.put_value(IFLA_VF_TRUST, ifla_vf_trust{.vf = vf.number, .setting = *wanted.trust});
        });
    if (wanted.link_state)
        set(route, vf, only(&VfSettings::link_state, wanted.link_state), [&](Message& request) {
            request.put_value(
                IFLA_VF_LINK_STATE,
                ifla_vf_link_state{.vf = vf.number, .link_state = static_cast<std::uint32_t>(*wanted.link_state)});
        });
    const auto set_guid = [&](auto member, int attribute) {
        if (const auto& guid = wanted.*member)
            set(route, vf, only(member, guid), [&](Message& request) {
                request.put_value(attribute, ifla_vf_guid{.vf = vf.number, .guid = guid->value()});
            });
    };
    set_guid(&VfSettings::node_guid, IFLA_VF_IB_NODE_GUID);
    set_guid(&VfSettings::port_guid, IFLA_VF_IB_PORT_GUID);
}

VfSettings without_port_speed(const VfSettings& present, const VfId& vf) {
    VfSettings rest = present;
    if (!rest.rates || rest.rates->most_mbps == 0) return rest;
    const auto speed = base::find_line(AT_FDCWD, fmt::format("/sys/class/net/{}/speed", vf.pf));
    if (speed && base::parse_integer<std::uint32_t>(*speed) == rest.rates->most_mbps) rest.rates.reset();
    return rest;
}

/// The kernel ignores what follows the node GUID in a request (do_setvfinfo(), net/core/rtnetlink.c). So a port GUID
/// after a node GUID has a command of its own.
std::string to_command(const VfSettings& settings, const VfId& vf) {
    const std::string command = fmt::format("ip link set {} vf {}", vf.pf, vf.number);
    std::string text = command;
    if (settings.mac) text += fmt::format(" mac {}", *settings.mac);
    if (settings.vlan) {
        text += fmt::format(" vlan {}", settings.vlan->id);
        if (settings.vlan->qos != 0) text += fmt::format(" qos {}", settings.vlan->qos);
        if (settings.vlan->protocol != VlanProtocol::dot1q) text += fmt::format(" proto {}", settings.vlan->protocol);
    }
    if (settings.rates)
        text += fmt::format(" max_tx_rate {} min_tx_rate {}", settings.rates->most_mbps, settings.rates->least_mbps);
    if (settings.spoof_check) text += *settings.spoof_check ? " spoofchk on" : " spoofchk off";
    if (settings.trust) text += *settings.trust ? " trust on" : " trust off";
    if (settings.link_state) text += fmt::format(" state {}", *settings.link_state);
    if (settings.node_guid) text += fmt::format(" node_guid {}", *settings.node_guid);
    if (settings.port_guid)
        text += fmt::format("{} port_guid {}", settings.node_guid ? fmt::format(" && {}", command) : "",
                            *settings.port_guid);
    return text;
}

} // namespace rdmanet::kernel
