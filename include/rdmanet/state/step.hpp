// A step of an attachment in its record. The step's JSON says what it did and how to undo that; module attach reads and
// writes it (attach/steps). This module knows only the kind of a step and what it holds.
#pragma once

#include <rdmanet/json/reader.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace rdmanet::state {

/// A macvlan, ipvlan or IPoIB child: what other attachments need to know of it.
struct Child {
    std::string kind;   // "macvlan", "ipvlan" or "ipoib"
    std::string mode;   // kind and mode as in messages: "macvlan mode bridge"
    std::string parent; // name of the parent, for messages
    unsigned parent_ifindex = 0;
    bool parent_in_pod = false; // the parent's index is that of the pod's namespace
    /// The MAC with which the link was created; empty if the kernel chose it (ipvlan, passthru). IPoIB: 20 bytes, once
    /// known.
    std::string mac;
};

/// An RDMA device that was moved into the pod.
struct HeldRdma {
    std::uint32_t index = 0;     // does not change when the device is renamed or moved
    std::uint64_t node_guid = 0; // confirms that the index is still the same device's
    std::string name;            // on the host
};

/// What an attachment holds because of a step, until the step is undone. Others find its record by this.
struct Holds {
    /// Bus address, or the name of an interface without one. Also if the attachment has only a part of the device.
    std::string device{};
    std::optional<Child> child{};
    std::optional<HeldRdma> rdma{};
    std::string device_info{}; // name of a device-info file
    /// The step concerns only another program, and holds no device, interface or pod. It may survive a reboot.
    bool is_for_others = false;
};

struct Step {
    std::string kind; // "move-link"
    std::string json; // an object
    Holds holds{};
};

/// Reads a step of a record. Throws json::ValueError for an unknown kind, and for an object that no version has
/// written.
using ReadStep = Step (*)(const json::Reader& step);

} // namespace rdmanet::state
