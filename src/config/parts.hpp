// What parse_config() consists of: the known keys, those of the object "rdma", and those of devices that move, which
// are sriov-cni's, host-device's and rdmanet's.
#pragma once

#include <rdmanet/config/config.hpp>
#include <rdmanet/json/known_keys.hpp>
#include <rdmanet/json/reader.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::config {

/// A child of a parent, or a device that moves: some keys have an effect for one of them only.
enum class KeysOf : std::uint8_t { child, device };

/// Warns of unknown keys in the configuration, in "rdma" and in "dns", and of peers' keys that ask for something that
/// rdmanet does not do. "ipam" is left to its plugin.
void warn_of_keys(const json::Reader& root, KeysOf kind, json::KeyWarnings& warnings);

/// The keys "device" and "name" of the object "rdma". Both throw json::ValueError.
[[nodiscard]] std::optional<RdmaChoice> parse_rdma_choice(const json::Reader& rdma);
[[nodiscard]] std::optional<std::string> parse_rdma_name(const json::Reader& rdma);

/// The known keys of VFs.
[[nodiscard]] std::span<const json::KnownKey> keys_of_vfs();
/// Those of them that are settings which a PF applies to a VF of any link layer, and that mean nothing else.
[[nodiscard]] std::span<const std::string_view> setting_keys_of_vfs();

/// The device plugin's choice: Multus writes the keys "deviceID" and "pciBusID", and a runtime with that capability
/// writes "runtimeConfig.deviceID". nullopt if there is none, or if it is empty.
[[nodiscard]] std::optional<json::Reader> find_device_key(const json::Reader& root);

/// True for a configuration of the host-device plugin.
[[nodiscard]] bool names_host_device(const json::Reader& root);

// Each throws json::ValueError or CniError naming the key.

/// Refuses a key that belongs to another kind of attachment, if it is there and not empty.
void refuse_key(const json::Reader& root, std::string_view key, std::string_view reason);
/// The partition key of an IPoIB child or of an InfiniBand VF. nullopt if there is none, or if it is empty.
[[nodiscard]] std::optional<std::uint16_t> find_pkey(const json::Reader& root);
/// A VF by its address. nullopt if the configuration has none.
[[nodiscard]] std::optional<base::BusAddress> find_vf(const json::Reader& root);
/// Root writes the file, and configurations may come from tenants, so only Multus's directory for such files is
/// allowed. ADD checks that the file is this pod's, see require_own_device_info().
[[nodiscard]] std::optional<std::string> parse_device_info_file(const json::Reader& root);
/// Warns of a GUID that the pod asks for and this kind of attachment cannot have.
void warn_of_guid_request(const json::Reader& root, std::string_view kind, std::vector<std::string>& warnings);
[[nodiscard]] Sriov parse_sriov(const json::Reader& root);
[[nodiscard]] HostDevice parse_host_device(const json::Reader& root);
[[nodiscard]] RdmaOnly parse_rdma_only(const json::Reader& root);

} // namespace rdmanet::config
