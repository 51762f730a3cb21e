// What the network configuration says a pod gets: our own keys and the peers', validated as a whole.
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

/// The name by which configurations call this plugin, in "type" and in "ipam.type".
inline constexpr std::string_view kPluginName = "rdmanet";

using base::Ipoib;
using base::Ipvlan;
using base::Macvlan;

/// An SR-IOV VF, its net device and its RDMA device.
struct Sriov {
    base::VfSettings settings; // for its PF to set; "mac" is among them once it is known who chooses it
};

/// A whole function or sub-function: by Config::device, or by one of these.
struct HostDevice {
    std::optional<std::string> name;        // "device"
    std::optional<base::MacAddress> hwaddr; // of the net device
};

/// Only the RDMA device of an earlier plugin's interface.
struct RdmaOnly {};

/// Who takes the pod's default route when routes of this network contain one.
enum class DefaultRoute : std::uint8_t {
    if_none, // only if the pod has none of that family: a secondary network never takes it over by accident
    always,
    never,
};

/// What makes sure that nobody else has the pod's addresses.
enum class DuplicateDetection : std::uint8_t {
    optimistic, // the kernel, for IPv6, while the address is in use already
    probe,      // we ask before the address is used, for both families
};

enum class RdmaDemand : std::uint8_t {
    ignored,    // "rdma": false
    if_present, // no "rdma" key: used when the parent has it
    required,   // "rdma": true or an object
};
enum class OnMissingGid : std::uint8_t { warn, refuse };
enum class OnInactivePort : std::uint8_t { warn, refuse };

/// Of the RDMA devices of one function: its place among them, from 0, in the order in which the driver made them, or a
/// pattern of names (fnmatch(3)), which may mean several.
using RdmaChoice = std::variant<std::size_t, std::string>;

struct RdmaPolicy {
    RdmaDemand demand = RdmaDemand::if_present;
    /// Whether the RDMA device of a VF goes into the pod; unset: it does where the node's mode lets it.
    std::optional<bool> isolation;
    std::optional<RdmaChoice> device; // unset: all of the function go into the pod
    std::optional<std::string> name;  // of the RDMA device in the pod; unset: as on the host
    bool link_local_gids = true; // that the interface has an IPv6 link-local address, which has GIDs as others have
    std::optional<std::size_t> most_gids; // entries that the attachment may take of the table that it shares
    bool wait_for_gids = true;
    std::chrono::milliseconds gid_timeout{2000};
    OnMissingGid on_missing_gid = OnMissingGid::warn;
    OnInactivePort on_inactive_port = OnInactivePort::warn;
};

/// Addresses from nowhere, from our allocator, or from another plugin.
struct NoIpam {};
struct DelegatedIpam {
    std::string plugin;
};
using IpamChoice = std::variant<NoIpam, ipam::Config, DelegatedIpam>;

/// Where "logFile" may be.
inline constexpr const char* kLogDirectory = "/var/log";

struct LogTarget {
    std::optional<std::string> file; // below kLogDirectory: "rdmanet.log", "rdmanet-NAME.log" or "rdmanet/NAME"
    base::LogLevel level = base::LogLevel::warning;
};

struct Config {
    std::variant<Macvlan, Ipvlan, Ipoib, Sriov, HostDevice, RdmaOnly> attach;
    std::optional<base::BusAddress> device; // that moves; a device plugin chooses it, then STATUS doesn't know it
    std::optional<std::string> master;      // name of an interface or of an RDMA device
    bool link_in_container = false;
    bool reset = false; // the device, before it goes to another pod
    std::optional<std::uint32_t> mtu;
    std::optional<base::MacAddress> mac; // the configuration's own; requests by the runtime come first
    DefaultRoute default_route = DefaultRoute::if_none;
    DuplicateDetection duplicate_detection = DuplicateDetection::optimistic;
    RdmaPolicy rdma;
    IpamChoice ipam;
    LogTarget log;
    std::optional<std::string> device_info_file; // "runtimeConfig.CNIDeviceInfoFile": what Multus reads after ADD
    std::vector<std::string> warnings;
    bool strict = false;            // keys that do nothing are an error
    json::UselessKeys useless_keys; // `warnings` has them as well

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

/// Throws json::ValueError naming the key, and CniError (unsupported field) for what this version can't do.
[[nodiscard]] Config parse_config(const cni::NetConf& conf);

/// Throws json::ValueError if there are keys that do nothing, and the network or its node refuses them. Only for calls
/// that must not be done with a wrong configuration.
void require_useful_keys(const json::UselessKeys& useless, bool network_is_strict, bool node_is_strict);
/// Throws the fault of the built-in allocator's configuration, if it has one. Only for the same calls.
void require_sound(const IpamChoice& ipam);

/// Only the "ipam" part: what the stand-alone IPAM plugin needs.
[[nodiscard]] IpamChoice parse_ipam(const cni::NetConf& conf, std::vector<std::string>& warnings);
/// Whether the configuration names another plugin as its type and this one as its IPAM. One without a type says nothing
/// of the kind: a DEL that took it for this would forget the interface.
[[nodiscard]] bool is_ipam_only(const cni::NetConf& conf);
/// Whether the configuration is of "attach": "rdma", as far as it can be read.
[[nodiscard]] bool is_rdma_only(const cni::NetConf& conf);
/// Only the device: a whole function by its address or its place in sysfs; nullopt if the configuration has neither. A
/// device plugin's ID that is no address says nothing where other keys name the device. Throws json::ValueError.
[[nodiscard]] std::optional<base::BusAddress> find_device(const json::Reader& root);
/// Where Multus keeps device-info files for plugins, or the same below /var.
inline constexpr std::string_view kDeviceInfoDirectory = "/run/k8s.cni.cncf.io/devinfo/cni/";
/// The path's last part, if the rest is that directory; else empty.
[[nodiscard]] std::string_view device_info_name(std::string_view path);
/// Only "logFile" and "logLevel".
[[nodiscard]] LogTarget parse_log_target(const cni::NetConf& conf);

} // namespace rdmanet::config
