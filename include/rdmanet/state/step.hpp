// Steps of an attachment as data: enough to undo each of them, whether it was done, half done or never begun.
// Names and numbers in the encoded form are on disk and do not change their meaning.
#pragma once

#include <rdmanet/base/vf_settings.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rdmanet::state {

using base::VfSettings;

/// A macvlan, ipvlan or IPoIB child made in the pod's network namespace. Undone by removing the link of this name
/// there, if kind, parent and (macvlan) MAC show that it is ours. An IPoIB child is given back to the host when the
/// namespace goes: there it is told by its hardware address.
struct CreateLink {
    std::string kind;   // "macvlan", "ipvlan" or "ipoib"
    std::string mode;   // with its kind, as messages say it: "macvlan mode bridge"
    std::string ifname; // name in the pod
    std::string parent; // name of the parent, for messages
    unsigned parent_ifindex = 0;
    bool parent_in_pod = false; // linkInContainer: the parent's index counts in the pod's namespace
    /// What the link was created with; empty if the kernel chose (ipvlan, passthru). IPoIB: 20 bytes, once known.
    std::string mac;
    unsigned ifindex = 0; // in the pod; 0 until the link was seen
};

/// The attachment has a device; how its net device was before. Undone, once it is back, by making it so again.
struct KeepDevice {
    std::string device; // bus address, "0000:3b:00.2"
    std::string name;   // of the net device on the host; empty if there is none: a driver for user space
    std::string mac;
    unsigned mtu = 0; // bytes
    bool up = false;
    bool promiscuous = false;
    bool all_multicast = false;
    std::optional<std::uint8_t> ipv6_address_mode; // enum in6_addr_gen_mode, linux/if_link.h
    std::vector<std::string> altnames;
    // Absent in records of earlier versions:
    std::optional<std::string> alias; // empty: none
    std::optional<std::uint32_t> group;
    std::optional<std::uint32_t> transmit_queue_length; // packets
    std::optional<std::uint32_t> gso_max_size;          // bytes
    std::optional<std::uint32_t> gso_max_segments;
    std::optional<std::uint32_t> gro_max_size;      // bytes
    std::optional<std::uint32_t> gso_ipv4_max_size; // bytes
    std::optional<std::uint32_t> gro_ipv4_max_size; // bytes
    std::map<std::string, std::string> files;       // in sysfs, see kernel::without_repetitions()
    // Of the driver, kernel::FeatureSet: the numbers hold for the record's boot. Empty: unknown.
    std::vector<std::uint32_t> wanted_features;
    std::vector<std::uint32_t> active_features;
    std::optional<std::vector<std::uint32_t>> xdp_programs; // by the kernel's numbers
};

/// Settings of a VF that its PF changed. Undone by setting them again as they were.
struct SetVf {
    std::string pf;      // bus address
    unsigned number = 0; // of the VF in its PF
    VfSettings before;   // those that were changed
    std::string device;  // bus address of the VF; empty in records of earlier versions
};

/// A VF's representor, by which the host's bridge reaches the pod: what of it was changed, as it was. Undone by making
/// it so again, while it is still the same one.
struct SetRepresentor {
    std::string pf;              // bus address
    unsigned number = 0;         // of the VF in its PF
    unsigned ifindex = 0;        // of the representor on the host
    std::string name;            // for messages
    std::optional<unsigned> mtu; // bytes; absent: not changed
    bool was_down = false;       // and was brought up
    bool had_ipv6 = false;       // which was switched off before
    std::string device;          // bus address of the VF; empty in records of earlier versions
};

/// A device's driver was bound anew, so that it takes the GUIDs that the PF has set. Undone by binding it anew.
struct RebindDriver {
    std::string device; // bus address
    std::string driver;
    // Before; while it has both, there is nothing to undo:
    std::string guid;            // of its port
    std::uint64_t node_guid = 0; // of its RDMA device, host byte order; 0: it had none
};

/// A function that the pod has is to be reset when it is back, so that the next finds nothing of this one in it. Undone
/// by that, and by binding its driver anew.
struct ResetFunction {
    std::string device; // bus address
    std::string driver;
    std::vector<std::string> rdma_names; // of its RDMA devices on the host, in the order in which the driver made them
};

/// A device's net device was moved into the pod. Undone by moving it to the host, or by waiting until the kernel has.
struct MoveLink {
    std::string device; // bus address
    std::string ifname; // name in the pod
};

/// An interface without a bus address (dummy, veth) was moved into the pod. Undone by moving it to the host and making
/// it as it was. Gone with the pod's namespace, or removed by the pod, is undone: the kernel gives back none of these.
struct MoveInterface {
    KeepDevice before;           // `device` is its name, too
    std::string kind;            // "dummy", "veth"
    unsigned ifindex = 0;        // on the host
    std::string ifname;          // name in the pod
    std::string mac_in_pod;      // until the link was seen there: the one that it shall have
    unsigned ifindex_in_pod = 0; // 0 until the link was seen
};

/// An RDMA device was moved into the pod, and may have been renamed there. Undone by moving it to the host, or by
/// waiting until the kernel has, and giving it back its name.
struct MoveRdma {
    std::string device;                // bus address
    std::uint32_t index = 0;           // of the RDMA device: survives renames and moves
    std::uint64_t node_guid = 0;       // guards the index
    std::string name;                  // on the host
    std::string name_in_pod;           // if it gets another there
    std::vector<std::uint32_t> stayed; // indices of the device's other RDMA devices, which were not moved
};

/// A device-info file was written for Multus. Undone by removing it.
struct WriteDeviceInfo {
    std::string path;
};

/// Another IPAM plugin was called with ADD. Undone by calling it with DEL and the same input, or with the configuration
/// that the caller of DEL has by then.
struct DelegateIpam {
    std::string plugin;
    std::string config; // the network configuration as the plugin got it on standard input
    std::string args;   // CNI_ARGS
    std::string path;   // CNI_PATH
    /// ADD ended with the plugin's own error, so it holds nothing as far as it knows itself: one DEL settles it,
    /// whatever the plugin says to that. False in records of earlier versions.
    bool refused = false;
};

using Step = std::variant<CreateLink, KeepDevice, RebindDriver, ResetFunction, SetVf, SetRepresentor, MoveLink,
                          MoveInterface, MoveRdma, WriteDeviceInfo, DelegateIpam>;

template <class... Kinds>
[[nodiscard]] bool is_any_of(const Step& step) {
    return (std::holds_alternative<Kinds>(step) || ...);
}

/// Bus address of the device that the step has changed, or the name of an interface without; empty for a step that has
/// changed none.
[[nodiscard]] std::string device_of(const Step& step);
/// Whether nobody else needs what the step still holds: what other programs owe keeps no device, interface or pod back.
[[nodiscard]] bool holds_nothing(const Step& step);

/// Members of the object that is being written.
void write_settings(json::Writer& writer, const VfSettings& settings);
/// Throws json::ValueError for anything that write_settings() would not have written.
[[nodiscard]] VfSettings parse_settings(const json::Reader& reader);

void write_step(json::Writer& writer, const Step& step);
/// Throws json::ValueError for anything that write_step() would not have written.
[[nodiscard]] Step parse_step(const json::Reader& reader);

} // namespace rdmanet::state
