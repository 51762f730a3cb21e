#include "parts.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

namespace rdmanet::config {
namespace {

using json::Reader;

// test/e2e/readme_test.cpp compares this list with the table of docs/configuration.md.
constexpr json::KnownKey kVfKeys[] = {
    {"vlan"},          {"vlanQoS"},    {"vlanProto"},           {"spoofchk"},
    {"trust"},         {"link_state"}, {"min_tx_rate"},         {"max_tx_rate"},
    {"rdmaIsolation"}, {"guid"},       {"ibKubernetesEnabled"}, {"deviceID"},
    {"pciBusID"},      {"reset"},
};

constexpr std::string_view kSettingKeys[] = {"spoofchk", "trust", "link_state", "min_tx_rate", "max_tx_rate"};

constexpr json::Choice<bool> kSwitches[] = {{"on", true}, {"off", false}};
constexpr json::Choice<base::VfLinkState> kVfLinkStates[] = {
    {"auto", base::VfLinkState::automatic},
    {"enable", base::VfLinkState::enable},
    {"disable", base::VfLinkState::disable},
};
constexpr json::Choice<base::VlanProtocol> kVlanProtocols[] = {
    {"802.1q", base::VlanProtocol::dot1q},
    {"802.1ad", base::VlanProtocol::dot1ad},
};

constexpr std::int64_t kMostVlan = 4094; // 4095 is reserved (IEEE 802.1Q, table 9-2)

std::optional<base::VfVlan> parse_vlan(const Reader& root) {
    const auto vlan = root.find("vlan");
    const auto qos = root.find("vlanQoS");
    const auto protocol = root.find_filled("vlanProto");
    if (!vlan) {
        for (const auto& key : {qos, protocol})
            if (key) throw key->unexpected("\"vlan\" to be set as well");
        return std::nullopt;
    }
    base::VfVlan wanted{.id = static_cast<std::uint16_t>(vlan->integer(0, kMostVlan))};
    if (qos) wanted.qos = static_cast<std::uint8_t>(qos->integer(0, 7));
    if (protocol) wanted.protocol = protocol->choose(kVlanProtocols);
    if (wanted.id != 0) return wanted;
    if (wanted.qos != 0) throw qos->unexpected("0, because \"vlan\" is 0");
    if (wanted.protocol != base::VlanProtocol::dot1q) throw protocol->unexpected("\"802.1q\", because \"vlan\" is 0");
    return wanted;
}

/// An absent rate is no limit, as in sriov-cni.
std::optional<base::VfRates> parse_rates(const Reader& root) {
    const auto least = root.find("min_tx_rate");
    const auto most = root.find("max_tx_rate");
    if (!least && !most) return std::nullopt;
    base::VfRates rates;
    if (least) rates.least_mbps = static_cast<std::uint32_t>(least->integer(0, UINT32_MAX));
    if (most) rates.most_mbps = static_cast<std::uint32_t>(most->integer(0, UINT32_MAX));
    if (rates.most_mbps != 0 && rates.least_mbps > rates.most_mbps)
        throw least->unexpected(fmt::format("at most {}, the value of \"max_tx_rate\"", rates.most_mbps));
    return rates;
}

std::optional<Reader> find_in(const std::optional<Reader>& object, std::string_view key) {
    return object ? object->find(key) : std::nullopt;
}

/// ib-sriov-cni's keys for the pod's request. Multus fills the first from "infiniband-guid" of the annotation.
std::optional<Reader> find_guid_request(const Reader& root) {
    const auto args = find_in(root.find("args"), "cni");
    for (const auto& value : {find_in(root.find("runtimeConfig"), "infinibandGUID"), find_in(args, "guid")})
        if (value && !value->is_empty_text()) return value;
    return std::nullopt;
}

std::optional<Reader> find_guid_key(const Reader& root) {
    if (auto request = find_guid_request(root)) return request;
    return root.find_filled("guid");
}

std::optional<base::Guid> parse_guid(const Reader& root) {
    const auto key = find_guid_key(root);
    if (!key) return std::nullopt;
    const auto guid = base::Guid::parse(key->string());
    if (!guid || guid->is_nobodys())
        throw key->unexpected("a GUID like \"02:00:00:00:00:00:00:01\", neither all 00 nor all ff");
    return guid;
}

/// A number, or text as `ip link` prints it: 0x8001. Bit 15, full membership, may be set or clear.
std::uint16_t parse_pkey(const Reader& reader) {
    constexpr const char* kExpected = "a partition key from 0x0001 to 0xffff, not 0x8000";
    std::optional<std::uint16_t> pkey;
    if (reader.is_string()) {
        const std::string text = reader.string();
        const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
        pkey = base::parse_integer<std::uint16_t>(std::string_view(text).substr(is_hex ? 2 : 0), is_hex ? 16 : 10);
    } else {
        pkey = static_cast<std::uint16_t>(reader.integer(0, UINT16_MAX));
    }
    if (!pkey || (*pkey & 0x7fffU) == 0) throw reader.unexpected(kExpected);
    return *pkey;
}

/// ib-kubernetes sets an argument when it has told the subnet manager about the GUID.
void require_subnet_manager(const Reader& root, bool has_guid) {
    const auto enabled = root.find("ibKubernetesEnabled");
    if (!enabled || !enabled->boolean()) return;
    const auto state = find_in(find_in(root.find("args"), "cni"), "mellanox.infiniband.app");
    if (has_guid && state && state->is_string() && state->string() == "configured") return;
    throw enabled->unexpected("false, or a pod that ib-kubernetes has configured (for networks of type ib-sriov it "
                              "writes the GUID and \"mellanox.infiniband.app\": \"configured\" into the pod's network "
                              "annotation)",
                              "without ib-kubernetes, remove the key");
}

void refuse_keys_of_children(const Reader& root, std::string_view kind) {
    for (const std::string_view key : {"master", "mode", "flag", "bcqueuelen", "linkInContainer"})
        refuse_key(root, key,
                   fmt::format("is only for children of an interface, this network is \"{}\": remove it", kind));
}

/// An InfiniBand VF may have the key, because ib-kubernetes reads it. Other devices have no partition.
void refuse_partition(const Reader& root, std::string_view kind) {
    refuse_key(root, "pkey", fmt::format("is only for \"ipoib\", this network is \"{}\": remove it", kind));
}

/// The PF applies these keys, and other devices may have no PF. A pod must not start outside its VLAN.
void refuse_keys_of_vfs(const Reader& root, std::string_view kind) {
    const auto refuse = [&](std::string_view key) {
        refuse_key(root, key,
                   fmt::format("is only for VFs, this network is \"{}\": remove it, or set \"attach\": \"sriov\" if "
                               "the device is a VF",
                               kind));
    };
    for (const std::string_view key : {"vlan", "vlanQoS", "vlanProto"}) refuse(key);
    for (const std::string_view key : kSettingKeys) refuse(key);
    for (const std::string_view key : {"guid", "ibKubernetesEnabled"}) refuse(key);
}

void refuse_keys_of_host_devices(const Reader& root, std::string_view kind, std::string_view fix) {
    for (const std::string_view key : {"device", "hwaddr", "kernelpath"})
        refuse_key(root, key, fmt::format("is only for \"host-device\", this network is \"{}\": {}", kind, fix));
}

} // namespace

void refuse_key(const Reader& root, std::string_view key, std::string_view reason) {
    if (const auto value = root.find_filled(key))
        throw cni::CniError(cni::ErrorCode::unsupported_field,
                            fmt::format("{}: {} {}", value->path(), value->shown(), reason));
}

std::span<const json::KnownKey> keys_of_vfs() {
    return kVfKeys;
}

std::span<const std::string_view> setting_keys_of_vfs() {
    return kSettingKeys;
}

std::optional<Reader> find_device_key(const Reader& root) {
    for (const auto& place : {root.find("runtimeConfig"), std::optional(root)})
        for (const std::string_view key : {"deviceID", "pciBusID"})
            if (auto value = find_in(place, key); value && !value->is_empty_text()) return value;
    return std::nullopt;
}

bool names_host_device(const Reader& root) {
    return root.find_filled("hwaddr") || root.find_filled("kernelpath") || root.find_filled("device");
}

std::optional<std::uint16_t> find_pkey(const Reader& root) {
    const auto pkey = root.find_filled("pkey");
    if (!pkey) return std::nullopt;
    return parse_pkey(*pkey);
}

namespace {

std::optional<base::BusAddress> find_in_sysfs(const Reader& root) {
    const auto path = root.find_filled("kernelpath");
    if (!path) return std::nullopt;
    const std::string text = path->string();
    auto address = base::BusAddress::parse(text.substr(text.rfind('/') + 1));
    if (!address) throw path->unexpected("the directory of a PCI or auxiliary device below /sys/devices/");
    return address;
}

/// The ID of a device that pods share is not an address ("0"). Multus injects it like the others.
bool is_shared_id(const Reader& device, const Reader& root) {
    return names_host_device(root) && device.is_string() && !base::BusAddress::parse(device.string());
}

} // namespace

std::optional<base::BusAddress> find_vf(const Reader& root) {
    const auto device = find_device_key(root);
    if (!device) return std::nullopt;
    auto address = base::BusAddress::parse(device->string());
    if (!address || !address->pci()) throw device->unexpected("the PCI address of a VF, like \"0000:3b:00.2\"");
    return address;
}

std::optional<base::BusAddress> find_device(const Reader& root) {
    auto in_sysfs = find_in_sysfs(root);
    const auto device = find_device_key(root);
    if (!device || is_shared_id(*device, root)) return in_sysfs;
    auto address = base::BusAddress::parse(device->string());
    if (!address)
        throw device->unexpected("a PCI address like \"0000:3b:00.0\", or an auxiliary device like \"mlx5_core.sf.4\"");
    if (in_sysfs && *in_sysfs != *address)
        throw device->unexpected(fmt::format("the device of \"kernelpath\", {}", *in_sysfs), "remove one of them");
    return address;
}

std::string_view device_info_name(std::string_view path) {
    for (const std::string_view prefix : {std::string_view("/var"), std::string_view()})
        if (path.starts_with(prefix) && path.substr(prefix.size()).starts_with(kDeviceInfoDirectory))
            return path.substr(prefix.size() + kDeviceInfoDirectory.size());
    return {};
}

std::optional<std::string> parse_device_info_file(const Reader& root) {
    const auto file = find_in(root.find("runtimeConfig"), "CNIDeviceInfoFile");
    if (!file) return std::nullopt;
    std::string path = file->string();
    if (path.empty()) return std::nullopt;
    const std::string_view name = device_info_name(path);
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string_view::npos ||
        !base::is_printable_utf8(name))
        throw file->unexpected(fmt::format("a file in /var{}, as Multus sets it", kDeviceInfoDirectory),
                               "remove the key");
    return path;
}

void warn_of_guid_request(const Reader& root, std::string_view kind, std::vector<std::string>& warnings) {
    if (const auto request = find_guid_request(root))
        warnings.push_back(fmt::format(
            "{}: {} is ignored, because this network is \"{}\" and only an InfiniBand VF (\"attach\": \"sriov\") gets "
            "a GUID",
            request->path(), base::quoted(request->is_string() ? request->string() : request->to_text()), kind));
}

Sriov parse_sriov(const Reader& root) {
    refuse_keys_of_children(root, "sriov");
    refuse_keys_of_host_devices(root, "sriov", "name the VF with \"deviceID\"");
    (void)find_pkey(root); // ib-kubernetes reads it; the subnet manager gives the VF's port its partition keys
    Sriov sriov;
    sriov.settings.vlan = parse_vlan(root);
    sriov.settings.rates = parse_rates(root);
    sriov.settings.spoof_check = root.find_choice("spoofchk", kSwitches);
    sriov.settings.trust = root.find_choice("trust", kSwitches);
    sriov.settings.link_state = root.find_choice("link_state", kVfLinkStates);
    sriov.settings.node_guid = sriov.settings.port_guid = parse_guid(root);
    require_subnet_manager(root, sriov.settings.node_guid.has_value());
    return sriov;
}

HostDevice parse_host_device(const Reader& root) {
    refuse_keys_of_children(root, "host-device");
    refuse_partition(root, "host-device");
    refuse_keys_of_vfs(root, "host-device");
    HostDevice device;
    if (const auto name = root.find_filled("device")) device.name = name->string();
    if (const auto hwaddr = root.find_filled("hwaddr")) {
        device.hwaddr = base::MacAddress::parse(hwaddr->string());
        if (!device.hwaddr) throw hwaddr->unexpected("a MAC address like \"02:00:00:00:00:01\"");
    }
    return device;
}

RdmaOnly parse_rdma_only(const Reader& root) {
    refuse_keys_of_children(root, "rdma");
    refuse_partition(root, "rdma");
    refuse_keys_of_vfs(root, "rdma");
    refuse_keys_of_host_devices(root, "rdma", "remove it, because the RDMA device follows the interface");
    for (const std::string_view key :
         {"mtu", "promisc", "allmulti", "mac", "defaultRoute", "duplicateAddressDetection", "ipam"})
        refuse_key(
            root, key,
            "is for an interface, and with \"attach\": \"rdma\" an earlier plugin makes the interface: remove it");
    refuse_key(root, "reset",
               "is only for devices that move together with their interface, this network is \"rdma\": remove it");
    return {};
}

} // namespace rdmanet::config
