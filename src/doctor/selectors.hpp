// The devices that a device plugin's configuration chooses.
#pragma once

#include "context.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::doctor {

/// What a selector looks at.
enum class Trait : std::uint8_t { vendor, device_id, driver, address, pf_name, pf_address, interface, link_type, rdma };

/// A device must match one of the values.
struct Selector {
    std::string_view key; // as in the file: "vendors"
    Trait trait;
    std::vector<std::string> values;
};

/// A resource that the plugin registers.
struct Pool {
    std::string resource;                       // "intel.com/sriov"; without a prefix if the file has none
    std::vector<std::vector<Selector>> choices; // a device must match all selectors of one of them
};

/// The plugins whose configurations are known.
enum class PluginKind : std::uint8_t { sriov, shared };

/// The resources in a plugin's file, except those for accelerators and sub-functions. Selectors of other keys, such as
/// "ddpProfiles", are left out. Throws json::ParseError and json::ValueError.
///
/// SR-IOV network device plugin: "resourceList", each with "selectors", an object or a list of objects.
/// RDMA shared device plugin: "configList", each with "selectors" or "devices". It leaves devices without RDMA out.
[[nodiscard]] std::vector<Pool> list_pools(PluginKind kind, std::string_view text);

/// The functions that the plugin looks at. That for SR-IOV passes over PFs that have VFs.
[[nodiscard]] std::vector<const inventory::Device*> list_candidates(PluginKind kind, const Context& context);

/// True also if the name is not known: that of an interface that is in a pod.
[[nodiscard]] bool matches(const Context& context, const inventory::Device& device, const Selector& selector);

/// What the devices have where a selector looks, sorted: "15b3", "ens1f0np0#0-7".
[[nodiscard]] std::vector<std::string> values_of(const Context& context,
                                                 const std::vector<const inventory::Device*>& devices, Trait trait);

} // namespace rdmanet::doctor
