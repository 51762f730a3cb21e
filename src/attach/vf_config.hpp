// The keys of a VF: sriov-cni's and ours.
#pragma once

#include <rdmanet/attach/config.hpp>
#include <rdmanet/json/reader.hpp>

#include <optional>

namespace rdmanet::attach {

/// Where the device plugin's choice comes in: Multus writes the keys "deviceID" and "pciBusID", a runtime with that
/// capability "runtimeConfig.deviceID". nullopt if there is none, or an empty text.
[[nodiscard]] std::optional<json::Reader> find_device_key(const json::Reader& root);

// Each throws json::ValueError or CniError naming the key.

[[nodiscard]] base::PciAddress parse_device(const json::Reader& reader);
[[nodiscard]] Sriov parse_sriov(const json::Reader& root);

} // namespace rdmanet::attach
