#include <rdmanet/state/vf_settings.hpp>

#include <rdmanet/state/members.hpp>

#include <cstdint>

namespace rdmanet::state {
namespace {

std::optional<base::VfLinkState> find_link_state(const json::Reader& reader) {
    const auto text = reader.find("linkState");
    if (!text) return std::nullopt;
    for (const auto state : {base::VfLinkState::automatic, base::VfLinkState::enable, base::VfLinkState::disable})
        if (text->string() == to_string(state)) return state;
    throw text->unexpected("the state of a link");
}

base::VlanProtocol parse_protocol(const json::Reader& text) {
    for (const auto protocol : {base::VlanProtocol::dot1q, base::VlanProtocol::dot1ad})
        if (text.string() == to_string(protocol)) return protocol;
    throw text.unexpected("the protocol of a VLAN");
}

} // namespace

void write_settings(json::Writer& writer, const VfSettings& settings) {
    const auto& vlan = settings.vlan;
    writer.member("vlanQoS", std::uint32_t{vlan ? vlan->qos : std::uint8_t{0}});
    writer.member("vlanProto", vlan ? to_string(vlan->protocol) : "");
    if (settings.mac) writer.member("mac", settings.mac->to_string());
    if (vlan) writer.member("vlan", std::uint32_t{vlan->id});
    if (settings.rates)
        writer.member("minTxRate", settings.rates->least_mbps).member("maxTxRate", settings.rates->most_mbps);
    write_if(writer, "spoofchk", settings.spoof_check);
    write_if(writer, "trust", settings.trust);
    if (settings.link_state) writer.member("linkState", to_string(*settings.link_state));
    if (settings.node_guid) writer.member("nodeGuid", settings.node_guid->to_string());
    if (settings.port_guid) writer.member("portGuid", settings.port_guid->to_string());
}

VfSettings parse_settings(const json::Reader& reader) {
    VfSettings settings{.mac = find_value<base::MacAddress>(reader, "mac", "a MAC address"),
                        .vlan = std::nullopt,
                        .rates = std::nullopt,
                        .spoof_check = find_boolean(reader, "spoofchk"),
                        .trust = find_boolean(reader, "trust"),
                        .link_state = find_link_state(reader),
                        .node_guid = find_value<base::Guid>(reader, "nodeGuid", "a GUID"),
                        .port_guid = find_value<base::Guid>(reader, "portGuid", "a GUID")};
    const auto qos = static_cast<std::uint8_t>(reader.at("vlanQoS").integer(0, 7));
    const json::Reader protocol = reader.at("vlanProto");
    if (const auto vlan = find_number<std::uint16_t>(reader, "vlan"))
        settings.vlan = base::VfVlan{.id = *vlan, .qos = qos, .protocol = parse_protocol(protocol)};
    else if (qos != 0 || !protocol.string().empty())
        throw protocol.unexpected("nothing, nor a priority, without a VLAN");
    if (const auto least = find_number<std::uint32_t>(reader, "minTxRate"))
        settings.rates =
            base::VfRates{.least_mbps = *least,
                          .most_mbps = static_cast<std::uint32_t>(reader.at("maxTxRate").integer(0, UINT32_MAX))};
    return settings;
}

} // namespace rdmanet::state
