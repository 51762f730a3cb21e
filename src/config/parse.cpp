#include <rdmanet/config/config.hpp>

#include "parts.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::config {
namespace {

using json::Reader;

using base::IpvlanFlag;
using base::IpvlanMode;
using base::MacvlanMode;

constexpr json::Choice<MacvlanMode> kMacvlanModes[] = {
    {"bridge", MacvlanMode::bridge},
    {"private", MacvlanMode::private_},
    {"vepa", MacvlanMode::vepa},
    {"passthru", MacvlanMode::passthru},
};
constexpr json::Choice<IpvlanMode> kIpvlanModes[] = {
    {"l2", IpvlanMode::l2},
    {"l3", IpvlanMode::l3},
    {"l3s", IpvlanMode::l3s},
};
constexpr json::Choice<IpvlanFlag> kIpvlanFlags[] = {
    {"bridge", IpvlanFlag::bridge},
    {"private", IpvlanFlag::private_},
    {"vepa", IpvlanFlag::vepa},
};
constexpr json::Choice<base::IpoibMode> kIpoibModes[] = {
    {"datagram", base::IpoibMode::datagram},
    {"connected", base::IpoibMode::connected},
};
constexpr json::Choice<DefaultRoute> kDefaultRoutes[] = {
    {"if-none", DefaultRoute::if_none},
    {"always", DefaultRoute::always},
    {"never", DefaultRoute::never},
};
constexpr json::Choice<DuplicateDetection> kDuplicateDetections[] = {
    {"optimistic", DuplicateDetection::optimistic},
    {"probe", DuplicateDetection::probe},
};
constexpr json::Choice<bool> kRdmaModes[] = {{"shared", false}, {"exclusive", true}};
constexpr json::Choice<OnMissingGid> kOnMissingGid[] = {
    {"warn", OnMissingGid::warn},
    {"refuse", OnMissingGid::refuse},
};
constexpr json::Choice<OnInactivePort> kOnInactivePort[] = {
    {"warn", OnInactivePort::warn},
    {"refuse", OnInactivePort::refuse},
};

enum class Kind : std::uint8_t { macvlan, ipvlan, ipoib, sriov, host_device, rdma };
constexpr json::Choice<Kind> kKinds[] = {
    {"macvlan", Kind::macvlan},         {"ipvlan", Kind::ipvlan}, {"sriov", Kind::sriov},
    {"host-device", Kind::host_device}, {"ipoib", Kind::ipoib},   {"rdma", Kind::rdma},
};

/// Multus sets the device for every plugin of a network that has a resource, so "master" and "mode" have priority. A
/// device plugin's ID for a shared device is not a PCI address.
bool means_a_vf(const Reader& root) {
    if (root.find_filled("mode") || root.find_filled("master")) return false;
    const auto is_filled = [&](std::string_view key) { return root.find_filled(key).has_value(); };
    const auto settings = setting_keys_of_vfs();
    if (std::ranges::any_of(settings, is_filled) || is_filled("vlan") || is_filled("rdmaIsolation"))
        return true; // the device is still missing: the error names the keys for it
    const auto device = find_device_key(root);
    return device && device->is_string() && base::PciAddress::parse(device->string());
}

/// Without "attach", other keys decide: a configuration of the sriov, macvlan or ipvlan plugin needs no key of
/// rdmanet.
Kind infer_kind(const Reader& root) {
    if (names_host_device(root)) return Kind::host_device;
    if (means_a_vf(root)) return Kind::sriov;
    const auto mode = root.find("mode");
    const auto is_mode = [&](const auto& choice) { return mode && mode->is_word(choice.word); };
    return std::any_of(std::begin(kIpvlanModes), std::end(kIpvlanModes), is_mode) ? Kind::ipvlan : Kind::macvlan;
}

Kind parse_kind(const Reader& root) {
    const auto kind = root.find_choice("attach", kKinds);
    return kind ? *kind : infer_kind(root);
}

Macvlan parse_macvlan(const Reader& root) {
    Macvlan macvlan;
    if (const auto mode = root.find_choice("mode", kMacvlanModes)) macvlan.mode = *mode;
    if (const auto length = root.find("bcqueuelen"))
        macvlan.broadcast_queue_length = static_cast<std::uint32_t>(length->integer(0, UINT32_MAX));
    refuse_key(root, "pkey",
               "is only for \"ipoib\", this network is \"macvlan\": remove it, or set \"attach\": \"ipoib\"");
    refuse_key(root, "flag",
               "is only for \"ipvlan\", this network is \"macvlan\": remove it, or set \"attach\": \"ipvlan\"");
    return macvlan;
}

Ipvlan parse_ipvlan(const Reader& root) {
    Ipvlan ipvlan;
    if (const auto mode = root.find_choice("mode", kIpvlanModes)) ipvlan.mode = *mode;
    if (const auto flag = root.find_choice("flag", kIpvlanFlags)) ipvlan.flag = *flag;
    refuse_key(root, "pkey",
               "is only for \"ipoib\", this network is \"ipvlan\": remove it, or set \"attach\": \"ipoib\"");
    refuse_key(root, "bcqueuelen", "is only for \"macvlan\", this network is \"ipvlan\": remove it");
    refuse_key(root, "mac",
               "cannot be set, because an ipvlan child has its parent's MAC address: remove it, or set \"attach\": "
               "\"macvlan\"");
    return ipvlan;
}

Ipoib parse_ipoib(const Reader& root) {
    Ipoib ipoib;
    ipoib.pkey = find_pkey(root);
    ipoib.mode = root.find_choice("mode", kIpoibModes);
    for (const std::string_view key : {"bcqueuelen", "flag"})
        refuse_key(root, key, "is only for \"macvlan\" and \"ipvlan\", this network is \"ipoib\": remove it");
    refuse_key(root, "mac", "cannot be set, because an IPoIB child has its port's GUID: remove it");
    return ipoib;
}

base::MacAddress parse_mac(const Reader& reader) {
    const auto mac = base::MacAddress::parse(reader.string());
    if (!mac) throw reader.unexpected("a MAC address like \"02:00:00:00:00:01\"");
    if (mac->is_multicast() || mac->is_zero()) throw reader.unexpected("a unicast MAC address (first byte even)");
    return *mac;
}

/// "mode" and "isolation" mean the same: the mode of the node, and what that means for the pod.
std::optional<bool> parse_isolation(const Reader& rdma) {
    const auto mode = rdma.find("mode");
    const auto isolation = rdma.find("isolation");
    std::optional<bool> exclusive;
    if (mode) exclusive = mode->choose(kRdmaModes);
    if (!isolation) return exclusive;
    if (exclusive && *exclusive != isolation->boolean())
        throw isolation->unexpected(fmt::format("{}, because \"rdma.mode\" is \"{}\"", *exclusive ? "true" : "false",
                                                *exclusive ? "exclusive" : "shared"));
    return isolation->boolean();
}

RdmaPolicy parse_rdma_object(const Reader& rdma) {
    RdmaPolicy policy{.demand = RdmaDemand::required, .on_missing_gid = OnMissingGid::refuse};
    policy.isolation = parse_isolation(rdma);
    policy.device = parse_rdma_choice(rdma);
    policy.name = parse_rdma_name(rdma);
    if (const auto link_local = rdma.find("linkLocalGids")) policy.link_local_gids = link_local->boolean();
    if (const auto most = rdma.find("maxGids")) policy.most_gids = static_cast<std::size_t>(most->integer(1, 65535));
    if (const auto wait = rdma.find("waitForGids")) policy.wait_for_gids = wait->boolean();
    if (const auto timeout = rdma.find("gidTimeoutMs"))
        policy.gid_timeout = std::chrono::milliseconds(timeout->integer(0, 30'000));
    if (const auto action = rdma.find("onMissingGid")) policy.on_missing_gid = action->choose(kOnMissingGid);
    if (const auto action = rdma.find("onInactivePort")) policy.on_inactive_port = action->choose(kOnInactivePort);
    return policy;
}

RdmaPolicy parse_rdma(const Reader& root) {
    const auto rdma = root.find("rdma");
    if (!rdma) return {};
    if (rdma->is_object()) return parse_rdma_object(*rdma);
    if (!rdma->is_boolean()) throw rdma->unexpected("true, false or an object");
    if (!rdma->boolean()) return {.demand = RdmaDemand::ignored};
    return {.demand = RdmaDemand::required, .on_missing_gid = OnMissingGid::refuse};
}

/// ib-sriov-cni's key: the RDMA device must move along.
void parse_rdma_isolation(const Reader& root, Config& config) {
    const auto isolation = root.find("rdmaIsolation");
    if (!isolation) return;
    const bool wanted = isolation->boolean();
    const bool is_ignored = wanted && config.rdma.demand == RdmaDemand::ignored;
    if (is_ignored || config.rdma.isolation.value_or(wanted) != wanted)
        throw isolation->unexpected(fmt::format("{}, to agree with \"rdma\"", wanted ? "false" : "true"),
                                    "remove \"rdmaIsolation\"");
    config.rdma.isolation = wanted;
    if (wanted) config.rdma.demand = RdmaDemand::required;
}

void require_rdma_to_move(const Reader& root, Config& config) {
    const bool stays = config.rdma.demand == RdmaDemand::ignored || !config.rdma.isolation.value_or(true);
    if (stays)
        throw root.at("rdma").unexpected("true or mode \"exclusive\", because \"attach\": \"rdma\" moves RDMA devices");
    if (const auto isolation = root.find("rdmaIsolation"); isolation && !isolation->boolean())
        throw isolation->unexpected("true, because \"attach\": \"rdma\" moves RDMA devices");
    config.rdma.isolation = true;
    config.rdma.demand = RdmaDemand::required;
}

/// An RDMA device can be chosen and named only if the pod has it for itself.
void require_moved_rdma(const Reader& rdma, Config& config) {
    for (const std::string_view key : {"device", "name"}) {
        const auto value = rdma.find(key);
        if (!value) continue;
        if (!config.is_device())
            refuse_key(rdma, key,
                       fmt::format("is only for RDMA devices that move into the pod, this network is \"{}\": remove "
                                   "it, or set \"attach\": \"sriov\"",
                                   config.kind()));
        if (!config.rdma.isolation.value_or(true))
            throw json::ValueError(value->path(),
                                   fmt::format("{} has no effect, because \"rdma\" keeps RDMA devices on the host: "
                                               "remove it, or set \"rdma.mode\" to \"exclusive\"",
                                               value->shown()));
        config.rdma.isolation = true;
    }
}

void require_fitting_rdma(const Reader& root, Config& config) {
    if (const auto rdma = root.find("rdma"); rdma && rdma->is_object()) {
        require_moved_rdma(*rdma, config);
        if (config.is_rdma_only() || config.is_ipoib())
            refuse_key(
                *rdma, "linkLocalGids",
                fmt::format(
                    "is only for Ethernet interfaces that this plugin sets up, this network is \"{}\": remove it",
                    config.kind()));
        if (config.is_device() || config.is_ipoib())
            refuse_key(*rdma, "maxGids",
                       fmt::format("is only for pods that share the GID table of an Ethernet parent, this network is "
                                   "\"{}\": remove it",
                                   config.kind()));
    }
    if (config.is_rdma_only()) require_rdma_to_move(root, config);
    const auto* vf = std::get_if<Sriov>(&config.attach);
    if (vf != nullptr && vf->settings.link_state == base::VfLinkState::disable &&
        config.rdma.on_inactive_port == OnInactivePort::refuse)
        throw root.at("link_state").unexpected("\"auto\" or \"enable\", because \"rdma.onInactivePort\" is \"refuse\"");
    if (config.is_device()) {
        parse_rdma_isolation(root, config);
    } else if (config.rdma.isolation.value_or(false)) {
        throw cni::CniError(
            cni::ErrorCode::unsupported_field,
            "rdma: expected \"mode\": \"shared\", because a child of an interface shares its parent's RDMA "
            "device, found \"exclusive\": correct it, or set \"attach\": \"sriov\"");
    }
}

/// Without ARP and neighbour discovery no neighbour can be asked: ipvlan_set_port_mode() sets IFF_NOARP. Only an
/// IPoIB child is known to be InfiniBand here. A device is refused when it is found.
void parse_duplicate_detection(const Reader& root, Config& config) {
    const auto detection = root.find("duplicateAddressDetection");
    if (!detection) return;
    config.duplicate_detection = detection->choose(kDuplicateDetections);
    if (config.duplicate_detection != DuplicateDetection::probe) return;
    const auto* ipvlan = std::get_if<Ipvlan>(&config.attach);
    if (ipvlan != nullptr && ipvlan->mode != IpvlanMode::l2)
        throw detection->unexpected("\"optimistic\", because ipvlan can probe its neighbours in mode \"l2\" only");
    if (config.is_ipoib())
        throw detection->unexpected(
            "\"optimistic\", because this network is \"ipoib\" and only Ethernet neighbours can be probed");
}

/// The largest MTU of any link (include/uapi/linux/if_ether.h, ETH_MAX_MTU). 68 is the smallest for IPv4 (RFC 791).
constexpr std::int64_t kLeastMtu = 68;
constexpr std::int64_t kMostMtu = 65535;

std::optional<std::uint32_t> parse_mtu(const Reader& root) {
    const auto mtu = root.find("mtu");
    if (!mtu) return std::nullopt;
    const std::int64_t value = mtu->integer(0, kMostMtu);
    if (value == 0) return std::nullopt; // the parent's MTU, as in the reference plugins
    if (value < kLeastMtu)
        throw mtu->unexpected(fmt::format("0 (the parent's) or a number from {} to {}", kLeastMtu, kMostMtu));
    return static_cast<std::uint32_t>(value);
}

/// Only checks the types: the caller reads the capabilities, and leaves them in the configuration.
void require_capabilities(const Reader& root) {
    if (const auto capabilities = root.find("capabilities"))
        for (const auto& [name, value] : capabilities->members()) (void)value.boolean();
}

std::optional<std::string> parse_master(const Reader& root) {
    const auto master = root.find("master");
    if (!master) return std::nullopt;
    std::string name = master->string();
    if (name.empty()) return std::nullopt;
    // An RDMA device's name may be longer than an interface's (IB_DEVICE_NAME_MAX is 64).
    if (name.size() >= 64 || name.find('/') != std::string::npos || !base::is_printable_utf8(name))
        throw master->unexpected("the name of an interface or of an RDMA device");
    return name;
}

} // namespace

bool is_ipam_only(const cni::NetConf& conf) {
    return !conf.type.empty() && conf.type != kPluginName && conf.ipam_type == kPluginName;
}

bool is_rdma_only(const cni::NetConf& conf) {
    const auto attach = conf.document.root().find("attach");
    return attach && attach->is_word("rdma");
}

IpamChoice parse_ipam(const cni::NetConf& conf, std::vector<std::string>& warnings, const std::string& root) {
    if (!conf.ipam_type) {
        const auto ipam = conf.document.root().find("ipam");
        if (ipam && !ipam->members().empty())
            warnings.emplace_back(
                "ipam: it has keys but no \"type\", so the pod gets no addresses: add \"type\": \"rdmanet\"");
        return NoIpam{};
    }
    if (*conf.ipam_type != kPluginName) return DelegatedIpam{*conf.ipam_type};
    ipam::Config config = ipam::parse_config(conf.document.root().at("ipam"), root);
    warnings.insert(warnings.end(), config.warnings.begin(), config.warnings.end());
    return config;
}

void require_useful_keys(const json::UselessKeys& useless, bool network_is_strict, bool node_is_strict) {
    if (useless.empty() || (!network_is_strict && !node_is_strict)) return;
    std::vector<std::string> keys = useless.unknown;
    keys.insert(keys.end(), useless.idle.begin(), useless.idle.end());
    const std::string all = base::join(keys, ", and ");
    const std::size_t colon = all.find(": ");
    throw json::ValueError(
        all.substr(0, colon),
        fmt::format("{}: correct or remove it, because {}", all.substr(colon + 2),
                    network_is_strict ? "\"strict\" is true" : "RDMANET_STRICT is set on this node"));
}

void require_sound(const IpamChoice& ipam) {
    if (const auto* own = std::get_if<ipam::Config>(&ipam); own != nullptr && own->fault)
        throw json::ValueError(*own->fault);
}

Config parse_config(const cni::NetConf& conf, const std::string& node_root) try {
    const Reader root = conf.document.root();
    Config config;
    switch (parse_kind(root)) {
    case Kind::macvlan: config.attach = parse_macvlan(root); break;
    case Kind::ipvlan: config.attach = parse_ipvlan(root); break;
    case Kind::sriov: config.attach = parse_sriov(root); break;
    case Kind::host_device: config.attach = parse_host_device(root); break;
    case Kind::rdma: config.attach = parse_rdma_only(root); break;
    case Kind::ipoib: config.attach = parse_ipoib(root); break;
    }
    if (config.is_device())
        config.device = std::holds_alternative<Sriov>(config.attach) ? find_vf(root) : find_device(root);
    json::KeyWarnings keys;
    warn_of_keys(root, config.is_device() ? KeysOf::device : KeysOf::child, keys);
    config.warnings = std::move(keys.texts);
    config.useless_keys = std::move(keys.useless);
    if (const auto strict = root.find("strict")) config.strict = strict->boolean();
    if (!std::holds_alternative<Sriov>(config.attach)) warn_of_guid_request(root, config.kind(), config.warnings);
    if (config.is_device()) config.device_info_file = parse_device_info_file(root);
    if (const auto reset = root.find("reset"); reset && config.is_device()) config.reset = reset->boolean();
    config.master = parse_master(root);
    if (const auto inside = root.find("linkInContainer")) config.link_in_container = inside->boolean();
    config.mtu = parse_mtu(root);
    if (const auto on = root.find("promisc")) config.promiscuous = on->boolean();
    if (const auto on = root.find("allmulti")) config.all_multicast = on->boolean();
    if (const auto mac = root.find_filled("mac")) config.mac = parse_mac(*mac);
    if (const auto policy = root.find_choice("defaultRoute", kDefaultRoutes)) config.default_route = *policy;
    parse_duplicate_detection(root, config);
    config.rdma = parse_rdma(root);
    require_fitting_rdma(root, config);
    if (config.link_in_container && config.rdma.demand == RdmaDemand::required)
        refuse_key(root, "rdma",
                   "cannot be combined with \"linkInContainer\", because this version does not look for the RDMA "
                   "device of a parent in the pod: remove one of the two");
    require_capabilities(root);
    config.ipam = parse_ipam(conf, config.warnings, node_root);
    if (const auto* own = std::get_if<ipam::Config>(&config.ipam)) config.useless_keys.append(own->useless_keys);
    config.log = parse_log_target(conf);
    return config;
} catch (base::Error& error) {
    json::KeyWarnings keys;
    warn_of_keys(conf.document.root(), KeysOf::device, keys); // the unknown ones are the same for all kinds
    json::add_unknown_keys(error, keys.useless);
    throw;
}

} // namespace rdmanet::config
