// The steps of an attachment as its record has them: the second half of the journal's format (the first half is
// attachment_record.hpp; the rules are in fields.hpp). A step is written before it is applied, with all that undoing it
// needs. What undoing does is in module attach, in the file of the step's kind (attach/steps).
//
// A reader refuses a step of a kind that it does not know, because it could not undo it.
#pragma once

#include <rdmanet/base/vf_settings.hpp>
#include <rdmanet/state/fields.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rdmanet::state {

/// What other attachments need to know of a macvlan, ipvlan or IPoIB child.
struct Child {
    std::string kind;   // "macvlan", "ipvlan" or "ipoib"
    std::string mode;   // kind and mode as in messages: "macvlan mode bridge"
    std::string parent; // name of the parent, for messages
    unsigned parent_ifindex = 0;
    bool parent_in_pod = false; // the parent's index is that of the pod's namespace
    /// The MAC with which the link was created; empty if the kernel chose it (ipvlan, passthru). IPoIB: 20 bytes, once
    /// known.
    std::string mac;

    void fields(Fields& f) {
        f("kind", kind)("mode", mode)("parent", parent)("parentIfindex", parent_ifindex);
        f.optional("parentInPod", parent_in_pod).optional("mac", mac);
    }
};

/// A child was created in the pod's network namespace.
struct CreateLink {
    static constexpr std::string_view kKind = "create-link";

    Child child;
    std::string ifname;   // name in the pod
    unsigned ifindex = 0; // in the pod; 0 before ADD knew it

    void fields(Fields& f) { f("child", child)("ifname", ifname).optional("ifindex", ifindex); }
};

/// How a net device was on the host.
struct LinkBefore {
    std::string device; // bus address, "0000:3b:00.2", or the name of an interface without one
    std::string name;   // of the net device on the host; empty if there is none
    bool up = false;
    std::vector<std::string> altnames;
    /// As text, by the names in attach/steps/link_settings.cpp: "mac", "mtu". Those that could not be recorded are
    /// absent.
    std::map<std::string, std::string> settings;
    std::map<std::string, std::string> files; // in sysfs, see kernel::without_repetitions()
    // The driver's features (kernel::FeatureSet). Their numbers are valid until a reboot. Empty: unknown.
    std::vector<std::uint32_t> wanted_features;
    std::vector<std::uint32_t> active_features;
    std::vector<std::uint32_t> xdp_programs; // program IDs

    /// Empty if it is not recorded.
    [[nodiscard]] std::string setting(const std::string& key) const {
        const auto found = settings.find(key);
        return found == settings.end() ? std::string() : found->second;
    }

    void fields(Fields& f) {
        f("device", device)("name", name)("up", up).optional("altnames", altnames).optional("settings", settings);
        f.optional("files", files).optional("wantedFeatures", wanted_features);
        f.optional("activeFeatures", active_features).optional("xdpPrograms", xdp_programs);
    }
};

/// The attachment has a device, and this is how its net device was before.
struct DeviceBaseline {
    static constexpr std::string_view kKind = "device-baseline";

    LinkBefore link; // without a name if the driver is for user space: then there is no net device

    void fields(Fields& f) { f("link", link); }
};

/// A device's driver was bound again, so that it takes the GUIDs that the PF has set.
struct RebindDriver {
    static constexpr std::string_view kKind = "rebind-driver";

    std::string device; // bus address
    std::string driver;
    // The GUIDs from before. While the VF has both, there is nothing to undo:
    std::string guid;            // of its port
    std::uint64_t node_guid = 0; // of its RDMA device, host byte order; 0: it had none

    void fields(Fields& f) { f("device", device)("driver", driver)("guid", guid)("nodeGuid", node_guid); }
};

/// The pod's function must be reset after the pod.
struct ResetFunction {
    static constexpr std::string_view kKind = "reset-function";

    std::string device; // bus address
    std::string driver;
    std::vector<std::string> rdma_names; // of its RDMA devices on the host, in the order in which the driver made them

    void fields(Fields& f) { f("device", device)("driver", driver)("rdmaNames", rdma_names); }
};

/// Settings of a VF were changed through its PF.
struct SetVf {
    static constexpr std::string_view kKind = "set-vf";

    std::string pf;          // bus address
    unsigned number = 0;     // of the VF in its PF
    base::VfSettings before; // only those that ADD changed
    std::string device;      // bus address of the VF

    void fields(Fields& f) { f("pf", pf)("vf", number)("before", before)("device", device); }
};

/// Settings of a VF's representor were changed.
struct SetRepresentor {
    static constexpr std::string_view kKind = "set-representor";

    std::string pf;              // bus address
    unsigned number = 0;         // of the VF in its PF
    unsigned ifindex = 0;        // of the representor on the host
    std::string name;            // for messages
    std::optional<unsigned> mtu; // bytes, from before; absent: not changed
    bool was_down = false;       // ADD brought it up
    bool had_ipv6 = false;       // ADD disabled IPv6 on it
    std::string device;          // bus address of the VF

    void fields(Fields& f) {
        f("pf", pf)("vf", number)("ifindex", ifindex)("name", name)("device", device);
        f.optional("mtu", mtu).optional("wasDown", was_down).optional("hadIpv6", had_ipv6);
    }
};

/// A device's net device was moved into the pod.
struct MoveLink {
    static constexpr std::string_view kKind = "move-link";

    std::string device; // bus address
    std::string ifname; // name in the pod

    void fields(Fields& f) { f("device", device)("ifname", ifname); }
};

/// A virtual interface was moved into the pod.
struct MoveInterface {
    static constexpr std::string_view kKind = "move-interface";

    LinkBefore before;           // its `device` is also the name
    std::string kind;            // "dummy", "veth"
    unsigned ifindex = 0;        // on the host
    std::string ifname;          // name in the pod
    std::string mac_in_pod;      // the planned one until ADD has seen the link in the pod
    unsigned ifindex_in_pod = 0; // 0 until ADD has seen the link in the pod

    void fields(Fields& f) {
        f("before", before)("kind", kind)("ifindex", ifindex)("ifname", ifname)("macInPod", mac_in_pod);
        f.optional("ifindexInPod", ifindex_in_pod);
    }
};

/// An RDMA device was moved into the pod, and may have been renamed there.
struct MoveRdma {
    static constexpr std::string_view kKind = "move-rdma";

    std::string device;                // bus address
    std::uint32_t index = 0;           // of the RDMA device; does not change when it is renamed or moved
    std::uint64_t node_guid = 0;       // confirms that the index is still the same device's
    std::string name;                  // on the host
    std::string name_in_pod;           // empty if it keeps its name
    std::vector<std::uint32_t> stayed; // indices of the device's other RDMA devices, which were not moved

    void fields(Fields& f) {
        f("device", device)("index", index)("nodeGuid", node_guid)("name", name);
        f.optional("nameInPod", name_in_pod).optional("stayed", stayed);
    }
};

/// Another IPAM plugin was called with ADD.
struct DelegateIpam {
    static constexpr std::string_view kKind = "delegate-ipam";

    std::string plugin;
    std::string config;   // the network configuration as the plugin got it on standard input
    std::string args;     // CNI_ARGS
    std::string path;     // CNI_PATH
    bool refused = false; // its ADD ended with its own error, so it holds nothing as far as it knows

    void fields(Fields& f) {
        f("plugin", plugin)("config", config)("args", args)("path", path).optional("refused", refused);
    }
};

/// A device-info file was written for Multus.
struct WriteDeviceInfo {
    static constexpr std::string_view kKind = "write-device-info";

    std::string path;

    void fields(Fields& f) { f("path", path); }
};

using Step = std::variant<CreateLink, DeviceBaseline, RebindDriver, ResetFunction, SetVf, SetRepresentor, MoveLink,
                          MoveInterface, MoveRdma, DelegateIpam, WriteDeviceInfo>;

/// A step is an object whose member "step" is its kind.
void fields(Fields& f, Step& step);
[[nodiscard]] std::string to_text(const Step& step);

/// Bus address, or the name of an interface without one, of what the step holds until it is undone, also if it is only
/// a part of the device. Empty if it holds none.
[[nodiscard]] std::string held_device(const Step& step);

/// Whether the step concerns only another program, and holds no device, interface or pod. It may survive a reboot.
[[nodiscard]] bool is_for_others(const Step& step);

template <class... Kinds>
[[nodiscard]] bool is_any_of(const Step& step) {
    return (std::holds_alternative<Kinds>(step) || ...);
}

void fields(Fields& f, base::VfSettings& settings);
void fields(Fields& f, base::VfVlan& vlan);
void fields(Fields& f, base::VfRates& rates);

} // namespace rdmanet::state
