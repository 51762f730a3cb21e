#include <rdmanet/state/step.hpp>

#include "number_text.hpp"

#include <rdmanet/base/text.hpp>

#include <cstdint>
#include <limits>

namespace rdmanet::state {
namespace {

constexpr const char* kCreateLink = "create-link";
constexpr const char* kKeepDevice = "keep-device";
constexpr const char* kRebindDriver = "rebind-driver";
constexpr const char* kResetFunction = "reset-function";
constexpr const char* kSetVf = "set-vf";
constexpr const char* kSetRepresentor = "set-representor";
constexpr const char* kMoveLink = "move-link";
constexpr const char* kMoveInterface = "move-interface";
constexpr const char* kMoveRdma = "move-rdma";
constexpr const char* kWriteDeviceInfo = "write-device-info";
constexpr const char* kDelegateIpam = "delegate-ipam";

unsigned parse_ifindex(const json::Reader& reader) {
    return static_cast<unsigned>(reader.integer(0, INT32_MAX));
}

template <class Value>
void write_if(json::Writer& writer, std::string_view key, const std::optional<Value>& value) {
    if (value) writer.member(key, *value);
}

std::optional<std::string> find_string(const json::Reader& reader, std::string_view key) {
    const auto value = reader.find(key);
    return value ? std::optional(value->string()) : std::nullopt;
}

std::optional<bool> find_boolean(const json::Reader& reader, std::string_view key) {
    const auto value = reader.find(key);
    return value ? std::optional(value->boolean()) : std::nullopt;
}

template <class Number>
std::optional<Number> find_number(const json::Reader& reader, std::string_view key) {
    const auto value = reader.find(key);
    if (!value) return std::nullopt;
    return static_cast<Number>(value->integer(0, std::numeric_limits<Number>::max()));
}

void write_list(json::Writer& writer, std::string_view key, const std::vector<std::uint32_t>& numbers) {
    writer.key(key).begin_array();
    for (const std::uint32_t number : numbers) writer.value(number);
    writer.end_array();
}

/// Nothing if there are none.
void write_numbers(json::Writer& writer, std::string_view key, const std::vector<std::uint32_t>& numbers) {
    if (!numbers.empty()) write_list(writer, key, numbers);
}

std::optional<std::vector<std::uint32_t>> find_list(const json::Reader& reader, std::string_view key) {
    const auto found = reader.find(key);
    if (!found) return std::nullopt;
    std::vector<std::uint32_t> numbers;
    for (const json::Reader& number : found->elements())
        numbers.push_back(static_cast<std::uint32_t>(number.integer(0, UINT32_MAX)));
    return numbers;
}

template <class Value>
std::optional<Value> find_value(const json::Reader& reader, std::string_view key, std::string_view expected) {
    const auto text = reader.find(key);
    if (!text) return std::nullopt;
    const auto value = Value::parse(text->string());
    if (!value) throw text->unexpected(expected);
    return value;
}

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

std::vector<std::uint32_t> find_numbers(const json::Reader& reader, std::string_view key) {
    return find_list(reader, key).value_or(std::vector<std::uint32_t>{});
}

void write(json::Writer& writer, const CreateLink& step) {
    writer.member("step", kCreateLink)
        .member("kind", step.kind)
        .member("mode", step.mode)
        .member("ifname", step.ifname)
        .member("parent", step.parent)
        .member("parentIfindex", step.parent_ifindex)
        .member("parentInPod", step.parent_in_pod)
        .member("mac", step.mac)
        .member("ifindex", step.ifindex);
}

void write(json::Writer& writer, const KeepDevice& step) {
    writer.member("step", kKeepDevice)
        .member("device", step.device)
        .member("name", step.name)
        .member("mac", step.mac)
        .member("mtu", step.mtu)
        .member("up", step.up)
        .member("promiscuous", step.promiscuous)
        .member("allMulticast", step.all_multicast);
    if (step.ipv6_address_mode) writer.member("ipv6AddressMode", std::uint32_t{*step.ipv6_address_mode});
    writer.key("altnames").begin_array();
    for (const std::string& altname : step.altnames) writer.value(altname);
    writer.end_array();
    write_if(writer, "alias", step.alias);
    write_if(writer, "group", step.group);
    write_if(writer, "txQueueLength", step.transmit_queue_length);
    write_if(writer, "gsoMaxSize", step.gso_max_size);
    write_if(writer, "gsoMaxSegs", step.gso_max_segments);
    write_if(writer, "groMaxSize", step.gro_max_size);
    write_if(writer, "gsoIpv4MaxSize", step.gso_ipv4_max_size);
    write_if(writer, "groIpv4MaxSize", step.gro_ipv4_max_size);
    write_numbers(writer, "wantedFeatures", step.wanted_features);
    write_numbers(writer, "activeFeatures", step.active_features);
    if (step.xdp_programs) write_list(writer, "xdpPrograms", *step.xdp_programs);
    if (step.files.empty()) return;
    writer.key("files").begin_array();
    for (const auto& [file, value] : step.files)
        writer.begin_object().member("file", file).member("value", value).end_object();
    writer.end_array();
}

void write(json::Writer& writer, const SetVf& step) {
    writer.member("step", kSetVf).member("pf", step.pf).member("vf", step.number);
    if (!step.device.empty()) writer.member("device", step.device);
    write_settings(writer, step.before);
}

void write(json::Writer& writer, const SetRepresentor& step) {
    writer.member("step", kSetRepresentor)
        .member("pf", step.pf)
        .member("vf", step.number)
        .member("ifindex", step.ifindex)
        .member("name", step.name)
        .member("wasDown", step.was_down)
        .member("hadIpv6", step.had_ipv6);
    write_if(writer, "mtu", step.mtu);
    if (!step.device.empty()) writer.member("device", step.device);
}

void write(json::Writer& writer, const RebindDriver& step) {
    writer.member("step", kRebindDriver)
        .member("device", step.device)
        .member("driver", step.driver)
        .member("guid", step.guid)
        .member("nodeGuid", base::concat(step.node_guid));
}

void write(json::Writer& writer, const ResetFunction& step) {
    writer.member("step", kResetFunction).member("device", step.device).member("driver", step.driver);
    writer.key("rdmaNames").begin_array();
    for (const std::string& name : step.rdma_names) writer.value(name);
    writer.end_array();
}

void write(json::Writer& writer, const MoveLink& step) {
    writer.member("step", kMoveLink).member("device", step.device).member("ifname", step.ifname);
}

void write(json::Writer& writer, const MoveInterface& step) {
    writer.member("step", kMoveInterface)
        .member("kind", step.kind)
        .member("ifindex", step.ifindex)
        .member("ifname", step.ifname)
        .member("macInPod", step.mac_in_pod)
        .member("ifindexInPod", step.ifindex_in_pod);
    writer.key("before").begin_object();
    write(writer, step.before);
    writer.end_object();
}

void write(json::Writer& writer, const MoveRdma& step) {
    writer.member("step", kMoveRdma)
        .member("device", step.device)
        .member("index", step.index)
        .member("nodeGuid", base::concat(step.node_guid))
        .member("name", step.name);
    if (!step.name_in_pod.empty()) writer.member("nameInPod", step.name_in_pod);
    write_numbers(writer, "stayed", step.stayed);
}

void write(json::Writer& writer, const WriteDeviceInfo& step) {
    writer.member("step", kWriteDeviceInfo).member("path", step.path);
}

void write(json::Writer& writer, const DelegateIpam& step) {
    writer.member("step", kDelegateIpam)
        .member("plugin", step.plugin)
        .member("config", step.config)
        .member("args", step.args)
        .member("path", step.path);
    if (step.refused) writer.member("refused", true);
}

CreateLink parse_create_link(const json::Reader& reader) {
    return {.kind = reader.at("kind").string(),
            .mode = reader.at("mode").string(),
            .ifname = reader.at("ifname").string(),
            .parent = reader.at("parent").string(),
            .parent_ifindex = parse_ifindex(reader.at("parentIfindex")),
            .parent_in_pod = reader.at("parentInPod").boolean(),
            .mac = reader.at("mac").string(),
            .ifindex = parse_ifindex(reader.at("ifindex"))};
}

KeepDevice parse_keep_device(const json::Reader& reader) {
    KeepDevice step{.device = reader.at("device").string(),
                    .name = reader.at("name").string(),
                    .mac = reader.at("mac").string(),
                    .mtu = static_cast<unsigned>(reader.at("mtu").integer(0, UINT32_MAX)),
                    .up = reader.at("up").boolean(),
                    .promiscuous = reader.at("promiscuous").boolean(),
                    .all_multicast = reader.at("allMulticast").boolean(),
                    .ipv6_address_mode = find_number<std::uint8_t>(reader, "ipv6AddressMode"),
                    .altnames = {},
                    .alias = find_string(reader, "alias"),
                    .group = find_number<std::uint32_t>(reader, "group"),
                    .transmit_queue_length = find_number<std::uint32_t>(reader, "txQueueLength"),
                    .gso_max_size = find_number<std::uint32_t>(reader, "gsoMaxSize"),
                    .gso_max_segments = find_number<std::uint32_t>(reader, "gsoMaxSegs"),
                    .gro_max_size = find_number<std::uint32_t>(reader, "groMaxSize"),
                    .gso_ipv4_max_size = find_number<std::uint32_t>(reader, "gsoIpv4MaxSize"),
                    .gro_ipv4_max_size = find_number<std::uint32_t>(reader, "groIpv4MaxSize"),
                    .files = {},
                    .wanted_features = find_numbers(reader, "wantedFeatures"),
                    .active_features = find_numbers(reader, "activeFeatures"),
                    .xdp_programs = find_list(reader, "xdpPrograms")};
    for (const json::Reader& altname : reader.at("altnames").elements()) step.altnames.push_back(altname.string());
    if (const auto files = reader.find("files"))
        for (const json::Reader& file : files->elements()) {
            const json::Reader name = file.at("file");
            if (!step.files.empty() && name.string() <= step.files.rbegin()->first)
                throw name.unexpected("each file once, in the order of their names");
            step.files.emplace(name.string(), file.at("value").string());
        }
    return step;
}

SetVf parse_set_vf(const json::Reader& reader) {
    return {.pf = reader.at("pf").string(),
            .number = static_cast<unsigned>(reader.at("vf").integer(0, UINT16_MAX)),
            .before = parse_settings(reader),
            .device = find_string(reader, "device").value_or("")};
}

SetRepresentor parse_set_representor(const json::Reader& reader) {
    return {.pf = reader.at("pf").string(),
            .number = static_cast<unsigned>(reader.at("vf").integer(0, UINT16_MAX)),
            .ifindex = parse_ifindex(reader.at("ifindex")),
            .name = reader.at("name").string(),
            .mtu = find_number<unsigned>(reader, "mtu"),
            .was_down = reader.at("wasDown").boolean(),
            .had_ipv6 = reader.at("hadIpv6").boolean(),
            .device = find_string(reader, "device").value_or("")};
}

RebindDriver parse_rebind_driver(const json::Reader& reader) {
    return {.device = reader.at("device").string(),
            .driver = reader.at("driver").string(),
            .guid = reader.at("guid").string(),
            .node_guid = parse_number_text(reader.at("nodeGuid"))};
}

ResetFunction parse_reset_function(const json::Reader& reader) {
    ResetFunction step{
        .device = reader.at("device").string(), .driver = reader.at("driver").string(), .rdma_names = {}};
    for (const json::Reader& name : reader.at("rdmaNames").elements()) step.rdma_names.push_back(name.string());
    return step;
}

MoveLink parse_move_link(const json::Reader& reader) {
    return {.device = reader.at("device").string(), .ifname = reader.at("ifname").string()};
}

MoveInterface parse_move_interface(const json::Reader& reader) {
    const json::Reader before = reader.at("before");
    if (const json::Reader kind = before.at("step"); kind.string() != kKeepDevice)
        throw kind.unexpected(base::quoted(kKeepDevice));
    return {.before = parse_keep_device(before),
            .kind = reader.at("kind").string(),
            .ifindex = parse_ifindex(reader.at("ifindex")),
            .ifname = reader.at("ifname").string(),
            .mac_in_pod = reader.at("macInPod").string(),
            .ifindex_in_pod = parse_ifindex(reader.at("ifindexInPod"))};
}

MoveRdma parse_move_rdma(const json::Reader& reader) {
    return {.device = reader.at("device").string(),
            .index = static_cast<std::uint32_t>(reader.at("index").integer(0, UINT32_MAX)),
            .node_guid = parse_number_text(reader.at("nodeGuid")),
            .name = reader.at("name").string(),
            .name_in_pod = find_string(reader, "nameInPod").value_or(""),
            .stayed = find_numbers(reader, "stayed")};
}

DelegateIpam parse_delegate_ipam(const json::Reader& reader) {
    return {.plugin = reader.at("plugin").string(),
            .config = reader.at("config").string(),
            .args = reader.at("args").string(),
            .path = reader.at("path").string(),
            .refused = find_boolean(reader, "refused").value_or(false)};
}

} // namespace

std::string device_of(const Step& step) {
    return std::visit(
        [](const auto& concrete) -> std::string {
            if constexpr (requires { concrete.device; }) return concrete.device;
            if constexpr (requires { concrete.before.device; }) return concrete.before.device;
            return {};
        },
        step);
}

bool holds_nothing(const Step& step) {
    return std::holds_alternative<DelegateIpam>(step) || std::holds_alternative<WriteDeviceInfo>(step);
}

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

void write_step(json::Writer& writer, const Step& step) {
    writer.begin_object();
    std::visit([&](const auto& concrete) { write(writer, concrete); }, step);
    writer.end_object();
}

Step parse_step(const json::Reader& reader) {
    const json::Reader kind = reader.at("step");
    const std::string name = kind.string();
    if (name == kCreateLink) return parse_create_link(reader);
    if (name == kKeepDevice) return parse_keep_device(reader);
    if (name == kRebindDriver) return parse_rebind_driver(reader);
    if (name == kResetFunction) return parse_reset_function(reader);
    if (name == kSetVf) return parse_set_vf(reader);
    if (name == kSetRepresentor) return parse_set_representor(reader);
    if (name == kMoveLink) return parse_move_link(reader);
    if (name == kMoveInterface) return parse_move_interface(reader);
    if (name == kMoveRdma) return parse_move_rdma(reader);
    if (name == kWriteDeviceInfo) return WriteDeviceInfo{.path = reader.at("path").string()};
    if (name == kDelegateIpam) return parse_delegate_ipam(reader);
    throw kind.unexpected("a known step");
}

} // namespace rdmanet::state
