#include "vf_state.hpp"

namespace rdmanet::attach {
namespace {

kernel::VfLinkState link_state_of(std::string_view text) {
    for (const auto state : {kernel::VfLinkState::enable, kernel::VfLinkState::disable})
        if (text == kernel::to_string(state)) return state;
    return kernel::VfLinkState::automatic;
}

kernel::VlanProtocol protocol_of(std::string_view text) {
    return text == kernel::to_string(kernel::VlanProtocol::dot1ad) ? kernel::VlanProtocol::dot1ad
                                                                   : kernel::VlanProtocol::dot1q;
}

} // namespace

state::SetVf to_step(const base::BusAddress& vf, const kernel::VfOf& of, const kernel::VfSettings& before) {
    return {.pf = of.pf.to_string(), .number = of.number, .before = to_recorded(before), .device = vf.to_string()};
}

state::VfSettings to_recorded(const kernel::VfSettings& settings) {
    state::VfSettings recorded;
    if (settings.mac) recorded.mac = settings.mac->to_string();
    if (settings.vlan) {
        recorded.vlan = settings.vlan->id;
        recorded.vlan_qos = settings.vlan->qos;
        recorded.vlan_protocol = kernel::to_string(settings.vlan->protocol);
    }
    if (settings.rates) {
        recorded.min_tx_rate = settings.rates->least_mbps;
        recorded.max_tx_rate = settings.rates->most_mbps;
    }
    recorded.spoof_check = settings.spoof_check;
    recorded.trust = settings.trust;
    if (settings.link_state) recorded.link_state = kernel::to_string(*settings.link_state);
    if (settings.node_guid) recorded.node_guid = settings.node_guid->to_string();
    if (settings.port_guid) recorded.port_guid = settings.port_guid->to_string();
    return recorded;
}

kernel::VfSettings to_settings(const state::VfSettings& recorded) {
    kernel::VfSettings settings;
    if (recorded.mac) settings.mac = base::MacAddress::parse(*recorded.mac);
    if (recorded.vlan)
        settings.vlan = kernel::VfVlan{
            .id = *recorded.vlan, .qos = recorded.vlan_qos, .protocol = protocol_of(recorded.vlan_protocol)};
    if (recorded.min_tx_rate && recorded.max_tx_rate)
        settings.rates = kernel::VfRates{.least_mbps = *recorded.min_tx_rate, .most_mbps = *recorded.max_tx_rate};
    settings.spoof_check = recorded.spoof_check;
    settings.trust = recorded.trust;
    if (recorded.link_state) settings.link_state = link_state_of(*recorded.link_state);
    if (recorded.node_guid) settings.node_guid = base::Guid::parse(*recorded.node_guid);
    if (recorded.port_guid) settings.port_guid = base::Guid::parse(*recorded.port_guid);
    return settings;
}

} // namespace rdmanet::attach
