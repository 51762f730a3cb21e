// What the network configuration says a pod gets. rdmanet's own keys and the peers' keys, validated as a whole.
#pragma once

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/child_kind.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/base/mac_address.hpp>
#include <rdmanet/base/vf_settings.hpp>
#include <rdmanet/cni/net_conf.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/json/known_keys.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rdmanet::config {

/// The plugin's name in "type" and in "ipam.type".
inline constexpr std::string_view kPluginName = "rdmanet";

using base::Ipoib;
using base::Ipvlan;
using base::Macvlan;

/// An SR-IOV VF, its net device and its RDMA device.
struct Sriov {
    base::VfSettings settings; // set by the PF; "mac" is set later, when it is known who chooses it
};

/// A whole function or a sub-function, identified by Config::device or by one of these members.
struct HostDevice {
    std::optional<std::string> name;        // "device"
    std::optional<base::MacAddress> hwaddr; // of the net device
};

/// Only the RDMA device of an earlier plugin's interface.
struct RdmaOnly {};

/// Whether this network's default route becomes the pod's default route.
enum class DefaultRoute : std::uint8_t {
    if_none, // only if the pod has none of that family: a secondary network never takes it over by accident
    always,
    never,
};

/// How rdmanet makes sure that no other host has the pod's addresses.
enum class DuplicateDetection : std::uint8_t {
    optimistic, // the kernel checks, for IPv6, while the address is already in use
    probe,      // rdmanet asks before the address is used, for both families
};

enum class RdmaDemand : std::uint8_t {
    ignored,    // "rdma": false
    if_present, // no "rdma" key: used when the parent has it
    required,   // "rdma": true or an object
};
enum class OnMissingGid : std::uint8_t { warn, refuse };
enum class OnInactivePort : std::uint8_t { warn, refuse };

/// A choice among the RDMA devices of one function: the position, from 0, in the order in which the driver created
/// them, or a pattern of names (fnmatch(3)), which may match several.
using RdmaChoice = std::variant<std::size_t, std::string>;

struct RdmaPolicy {
    RdmaDemand demand = RdmaDemand::if_present;
    /// Whether the VF's RDMA device moves into the pod. Unset: it moves if the node's mode allows it.
    std::optional<bool> isolation;
    std::optional<RdmaChoice> device;     // unset: all RDMA devices of the function move into the pod
    std::optional<std::string> name;      // the RDMA device's name in the pod; unset: as on the host
    bool link_local_gids = true;          // the interface has an IPv6 link-local address, which takes GIDs
    std::optional<std::size_t> most_gids; // entries of the shared GID table that the attachment may take
    bool wait_for_gids = true;
    std::chrono::milliseconds gid_timeout{2000};
    OnMissingGid on_missing_gid = OnMissingGid::warn;
    OnInactivePort on_inactive_port = OnInactivePort::warn;
};

/// No addresses, addresses from the built-in allocator, or from another plugin.
struct NoIpam {};
struct DelegatedIpam {
    std::string plugin;
};
using IpamChoice = std::variant<NoIpam, ipam::Config, DelegatedIpam>;

/// The directory of "logFile".
inline constexpr const char* kLogDirectory = "/var/log";

struct LogTarget {
    std::optional<std::string> file; // below kLogDirectory: "rdmanet.log", "rdmanet-NAME.log" or "rdmanet/NAME"
    base::LogLevel level = base::LogLevel::warning;
};

struct Config {
    std::variant<Macvlan, Ipvlan, Ipoib, Sriov, HostDevice, RdmaOnly> attach;
    /// The device to move. If a device plugin chooses it, STATUS does not know it.
    std::optional<base::BusAddress> device;
    std::optional<std::string> master; // name of an interface or of an RDMA device
    bool link_in_container = false;
    bool reset = false; // reset the device before another pod gets it
    std::optional<std::uint32_t> mtu;
    std::optional<bool> promiscuous;     // of the interface in the pod; absent: as it is
    std::optional<bool> all_multicast;   // the same
    std::optional<base::MacAddress> mac; // the configuration's own; the runtime's requests have priority
    DefaultRoute default_route = DefaultRoute::if_none;
    DuplicateDetection duplicate_detection = DuplicateDetection::optimistic;
    RdmaPolicy rdma;
    IpamChoice ipam;
    LogTarget log;
    std::optional<std::string> device_info_file; // "runtimeConfig.CNIDeviceInfoFile", which Multus reads after ADD
    std::vector<std::string> warnings;
    bool strict = false;            // keys without an effect are an error
    json::UselessKeys useless_keys; // also in `warnings`

    [[nodiscard]] bool is_macvlan() const { return std::holds_alternative<Macvlan>(attach); }
    [[nodiscard]] bool is_ipoib() const { return std::holds_alternative<Ipoib>(attach); }
    [[nodiscard]] bool is_device() const {
        return !is_macvlan() && !is_ipoib() && !std::holds_alternative<Ipvlan>(attach);
    }
    [[nodiscard]] bool is_rdma_only() const { return std::holds_alternative<RdmaOnly>(attach); }
    [[nodiscard]] std::string_view kind() const {
        constexpr std::string_view kinds[] = {"macvlan", "ipvlan", "ipoib", "sriov", "host-device", "rdma"};
        return kinds[attach.index()];
    }
};

/// Throws json::ValueError naming the key, and CniError (unsupported field) for what this version cannot do. Files of
/// the node are read below `root`: empty, or where the node's "/" is mounted.
[[nodiscard]] Config parse_config(const cni::NetConf& conf, const std::string& root = {});

/// Throws json::ValueError if there are keys without an effect and the network or its node refuses them. Only for
/// calls that must not run with a wrong configuration.
void require_useful_keys(const json::UselessKeys& useless, bool network_is_strict, bool node_is_strict);
/// Throws the fault of the built-in allocator's configuration, if it has one. Only for calls that must not run with
/// it.
void require_sound(const IpamChoice& ipam);

/// Reads only "ipam", which is all that the stand-alone IPAM plugin needs. `root` is that of parse_config().
[[nodiscard]] IpamChoice parse_ipam(const cni::NetConf& conf, std::vector<std::string>& warnings,
                                    const std::string& root = {});
/// Whether the configuration names another plugin as its type and rdmanet as its IPAM. A configuration without a type
/// is not one: a DEL that took it for one would leave the interface behind.
[[nodiscard]] bool is_ipam_only(const cni::NetConf& conf);
/// Whether the configuration has "attach": "rdma", as far as it can be read.
[[nodiscard]] bool is_rdma_only(const cni::NetConf& conf);
/// Reads only the device: a whole function by its address or its path in sysfs. nullopt if the configuration has
/// neither. If other keys name the device, a device plugin's ID that is not an address is ignored. Throws
/// json::ValueError.
[[nodiscard]] std::optional<base::BusAddress> find_device(const json::Reader& root);
/// Where Multus keeps device-info files for plugins. The path may also be below /var.
inline constexpr std::string_view kDeviceInfoDirectory = "/run/k8s.cni.cncf.io/devinfo/cni/";
/// The last part of the path if the rest is that directory; else empty.
[[nodiscard]] std::string_view device_info_name(std::string_view path);
/// Reads only "logFile" and "logLevel".
[[nodiscard]] LogTarget parse_log_target(const cni::NetConf& conf);

} // namespace rdmanet::config
