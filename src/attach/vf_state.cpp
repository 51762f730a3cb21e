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

state::SetVf to_step(const kernel::VfOf& of, const kernel::VfSettings& before) {
    state::SetVf step{.pf = of.pf.to_string(), .number = of.number};
    if (before.mac) step.mac = before.mac->to_string();
    if (before.vlan) {
        step.vlan = before.vlan->id;
        step.vlan_qos = before.vlan->qos;
        step.vlan_protocol = kernel::to_string(before.vlan->protocol);
    }
    if (before.rates) {
        step.min_tx_rate = before.rates->least_mbps;
        step.max_tx_rate = before.rates->most_mbps;
    }
    step.spoof_check = before.spoof_check;
    step.trust = before.trust;
    if (before.link_state) step.link_state = kernel::to_string(*before.link_state);
    if (before.node_guid) step.node_guid = before.node_guid->to_string();
    if (before.port_guid) step.port_guid = before.port_guid->to_string();
    return step;
}

kernel::VfSettings to_settings(const state::SetVf& step) {
    kernel::VfSettings settings;
    if (step.mac) settings.mac = base::MacAddress::parse(*step.mac);
    if (step.vlan)
        settings.vlan =
            kernel::VfVlan{.id = *step.vlan, .qos = step.vlan_qos, .protocol = protocol_of(step.vlan_protocol)};
    if (step.min_tx_rate && step.max_tx_rate)
        settings.rates = kernel::VfRates{.least_mbps = *step.min_tx_rate, .most_mbps = *step.max_tx_rate};
    settings.spoof_check = step.spoof_check;
    settings.trust = step.trust;
    if (step.link_state) settings.link_state = link_state_of(*step.link_state);
    if (step.node_guid) settings.node_guid = base::Guid::parse(*step.node_guid);
    if (step.port_guid) settings.port_guid = base::Guid::parse(*step.port_guid);
    return settings;
}

} // namespace rdmanet::attach
