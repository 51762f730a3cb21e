#include "vf_config.hpp"

#include "choices.hpp"

namespace rdmanet::attach {
namespace {

using base::concat;
using json::Reader;

constexpr Choice<bool> kSwitches[] = {{"on", true}, {"off", false}};
constexpr Choice<kernel::VfLinkState> kVfLinkStates[] = {
    {"auto", kernel::VfLinkState::automatic},
    {"enable", kernel::VfLinkState::enable},
    {"disable", kernel::VfLinkState::disable},
};
constexpr Choice<kernel::VlanProtocol> kVlanProtocols[] = {
    {"802.1q", kernel::VlanProtocol::dot1q},
    {"802.1ad", kernel::VlanProtocol::dot1ad},
    {"802.1Q", kernel::VlanProtocol::dot1q},
    {"802.1AD", kernel::VlanProtocol::dot1ad},
};

constexpr std::int64_t kMostVlan = 4094; // 4095 is reserved (IEEE 802.1Q, table 9-2)

std::optional<kernel::VfVlan> parse_vlan(const Reader& root) {
    const auto vlan = root.find("vlan");
    const auto qos = root.find("vlanQoS");
    const auto protocol = root.find("vlanProto");
    if (!vlan) {
        for (const auto& key : {qos, protocol})
            if (key) throw key->unexpected("\"vlan\" beside it");
        return std::nullopt;
    }
    kernel::VfVlan wanted{.id = static_cast<std::uint16_t>(vlan->integer(0, kMostVlan))};
    if (qos) wanted.qos = static_cast<std::uint8_t>(qos->integer(0, 7));
    if (protocol) wanted.protocol = choose<kernel::VlanProtocol>(*protocol, kVlanProtocols);
    if (wanted.id != 0) return wanted;
    if (wanted.qos != 0) throw qos->unexpected("0, as \"vlan\" is 0");
    if (wanted.protocol != kernel::VlanProtocol::dot1q) throw protocol->unexpected("\"802.1q\", as \"vlan\" is 0");
    return wanted;
}

/// One that isn't there is no limit, as in sriov-cni.
std::optional<kernel::VfRates> parse_rates(const Reader& root) {
    const auto least = root.find("min_tx_rate");
    const auto most = root.find("max_tx_rate");
    if (!least && !most) return std::nullopt;
    kernel::VfRates rates;
    if (least) rates.least_mbps = static_cast<std::uint32_t>(least->integer(0, UINT32_MAX));
    if (most) rates.most_mbps = static_cast<std::uint32_t>(most->integer(0, UINT32_MAX));
    if (rates.most_mbps != 0 && rates.least_mbps > rates.most_mbps)
        throw least->unexpected(concat("at most \"max_tx_rate\", ", rates.most_mbps));
    return rates;
}

template <class T>
std::optional<T> find_choice(const Reader& root, std::string_view key, std::span<const Choice<T>> choices) {
    const auto value = root.find(key);
    if (!value || (value->is_string() && value->string().empty())) return std::nullopt;
    return choose<T>(*value, choices);
}

} // namespace

std::optional<Reader> find_device_key(const Reader& root) {
    const auto runtime = root.find("runtimeConfig");
    for (const auto& place : {runtime && runtime->is_object() ? runtime : std::nullopt, std::optional(root)})
        for (const std::string_view key : {"deviceID", "pciBusID"})
            if (const auto value = place ? place->find(key) : std::nullopt;
                value && !(value->is_string() && value->string().empty()))
                return value;
    return std::nullopt;
}

base::PciAddress parse_device(const Reader& reader) {
    const auto address = base::PciAddress::parse(reader.string());
    if (!address) throw reader.unexpected("the PCI address of a VF, like \"0000:3b:00.2\"");
    return *address;
}

Sriov parse_sriov(const Reader& root) {
    for (const std::string_view key : {"master", "mode", "flag", "bcqueuelen", "linkInContainer"})
        refuse_key(root, key, "is a key of macvlan and ipvlan, this is sriov: remove it");
    Sriov sriov;
    sriov.settings.vlan = parse_vlan(root);
    sriov.settings.rates = parse_rates(root);
    sriov.settings.spoof_check = find_choice<bool>(root, "spoofchk", kSwitches);
    sriov.settings.trust = find_choice<bool>(root, "trust", kSwitches);
    sriov.settings.link_state = find_choice<kernel::VfLinkState>(root, "link_state", kVfLinkStates);
    return sriov;
}

} // namespace rdmanet::attach
