// The keys of devices that move: sriov-cni's, host-device's and ours.
#pragma once

#include <rdmanet/attach/config.hpp>
#include <rdmanet/json/reader.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::attach {

/// Where the device plugin's choice comes in: Multus writes the keys "deviceID" and "pciBusID", a runtime with that
/// capability "runtimeConfig.deviceID". nullopt if there is none, or an empty text.
[[nodiscard]] std::optional<json::Reader> find_device_key(const json::Reader& root);

/// A configuration of the host-device plugin.
[[nodiscard]] bool names_host_device(const json::Reader& root);

// Each throws json::ValueError or CniError naming the key.

/// The partition key of an IPoIB child, or of an InfiniBand VF; nullopt if there is none, or an empty text.
[[nodiscard]] std::optional<std::uint16_t> find_pkey(const json::Reader& root);
/// A VF by its address; nullopt if the configuration doesn't have it.
[[nodiscard]] std::optional<base::BusAddress> find_vf(const json::Reader& root);
/// A whole function by its address or its place in sysfs; nullopt if the configuration has neither. A device plugin's
/// ID that is no address says nothing where other keys name the device.
[[nodiscard]] std::optional<base::BusAddress> find_device(const json::Reader& root);
/// Where Multus keeps device-info files for plugins, or the same below /var.
inline constexpr std::string_view kDeviceInfoDirectory = "/run/k8s.cni.cncf.io/devinfo/cni/";
/// The path's last part, if the rest is that directory; else empty.
[[nodiscard]] std::string_view device_info_name(std::string_view path);
/// Root writes it, and configurations may come from tenants: only where Multus keeps such files. Whether it is this
/// pod's is ADD's to find out, see require_own_device_info().
[[nodiscard]] std::optional<std::string> parse_device_info_file(const json::Reader& root);
/// Of a GUID that the pod asks for and this kind of attachment can't have.
void warn_of_guid_request(const json::Reader& root, std::string_view kind, std::vector<std::string>& warnings);
[[nodiscard]] Sriov parse_sriov(const json::Reader& root);
[[nodiscard]] HostDevice parse_host_device(const json::Reader& root);
[[nodiscard]] RdmaOnly parse_rdma_only(const json::Reader& root);

} // namespace rdmanet::attach
