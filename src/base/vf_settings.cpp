#include <rdmanet/base/vf_settings.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

namespace rdmanet::base {
namespace {

/// Calls `visit` for every setting.
template <class Visit>
void for_each_setting(const Visit& visit) {
    visit(&VfSettings::mac);
    visit(&VfSettings::vlan);
    visit(&VfSettings::rates);
    visit(&VfSettings::spoof_check);
    visit(&VfSettings::trust);
    visit(&VfSettings::link_state);
    visit(&VfSettings::node_guid);
    visit(&VfSettings::port_guid);
}

} // namespace

std::vector<VfSettings> each_of(const VfSettings& settings) {
    std::vector<VfSettings> each;
    for_each_setting([&](auto setting) {
        if (settings.*setting) (each.emplace_back().*setting) = settings.*setting;
    });
    return each;
}

VfSettings difference(const VfSettings& wanted, const VfSettings& present) {
    VfSettings rest = wanted;
    for_each_setting([&](auto setting) {
        if (wanted.*setting == present.*setting) (rest.*setting).reset();
    });
    return rest;
}

VfSettings restrict_to(const VfSettings& present, const VfSettings& changed) {
    VfSettings rest = present;
    for_each_setting([&](auto setting) {
        if (!(changed.*setting)) (rest.*setting).reset();
    });
    return rest;
}

VfSettings ignored(const VfSettings& asked, const VfSettings& before, const VfSettings& now) {
    VfSettings rest = asked;
    for_each_setting([&](auto setting) {
        if (!(now.*setting) || now.*setting != before.*setting || now.*setting == asked.*setting)
            (rest.*setting).reset();
    });
    if (rest.rates == VfRates{}) rest.rates.reset();
    return rest;
}

VfSettings surely_told(const VfSettings& present) {
    VfSettings rest = present;
    if (rest.mac && rest.mac->is_zero()) rest.mac.reset();
    if (rest.vlan == VfVlan{}) rest.vlan.reset();
    if (rest.rates == VfRates{}) rest.rates.reset();
    if (rest.link_state == VfLinkState::automatic) rest.link_state.reset();
    rest.spoof_check.reset();
    return rest;
}

VfSettings lost(const VfSettings& wanted, const VfSettings& left, const VfSettings& present) {
    VfSettings all = left;
    for_each_setting([&](auto setting) {
        if (wanted.*setting) all.*setting = wanted.*setting;
        if (!(present.*setting) || present.*setting == wanted.*setting || present.*setting == left.*setting)
            (all.*setting).reset();
    });
    return all;
}

std::string to_string(const VfSettings& settings) {
    std::vector<std::string> parts;
    if (settings.mac) parts.push_back(fmt::format("mac {}", *settings.mac));
    if (settings.vlan) {
        parts.push_back(fmt::format("vlan {}", settings.vlan->id));
        if (settings.vlan->qos != 0) parts.back() += fmt::format(" qos {}", settings.vlan->qos);
        if (settings.vlan->protocol != VlanProtocol::dot1q) parts.back() += fmt::format(" {}", settings.vlan->protocol);
    }
    if (settings.rates)
        parts.push_back(fmt::format("rates {} to {} Mbit/s", settings.rates->least_mbps, settings.rates->most_mbps));
    if (settings.spoof_check) parts.emplace_back(*settings.spoof_check ? "spoofchk on" : "spoofchk off");
    if (settings.trust) parts.emplace_back(*settings.trust ? "trust on" : "trust off");
    if (settings.link_state) parts.push_back(fmt::format("link_state {}", *settings.link_state));
    if (settings.node_guid) parts.push_back(fmt::format("node_guid {}", *settings.node_guid));
    if (settings.port_guid) parts.push_back(fmt::format("port_guid {}", *settings.port_guid));
    return join(parts);
}

std::string_view to_string(VfLinkState state) {
    if (state == VfLinkState::automatic) return "auto";
    return state == VfLinkState::enable ? "enable" : "disable";
}

std::string_view to_string(VlanProtocol protocol) {
    return protocol == VlanProtocol::dot1ad ? "802.1ad" : "802.1q";
}

} // namespace rdmanet::base
