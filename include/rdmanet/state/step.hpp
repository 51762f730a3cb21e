// A step of an attachment as its record has it. What a step did and how it is undone is in its JSON, which room
// attach reads and writes (attach/steps). This room knows only the kind of a step and what it holds.
#pragma once

#include <rdmanet/json/reader.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace rdmanet::state {

/// A macvlan, ipvlan or IPoIB child, as far as others ask for it.
struct Child {
    std::string kind;   // "macvlan", "ipvlan" or "ipoib"
    std::string mode;   // with its kind, as messages say it: "macvlan mode bridge"
    std::string parent; // name of the parent, for messages
    unsigned parent_ifindex = 0;
    bool parent_in_pod = false; // the parent's index counts in the pod's namespace
    /// What the link was created with; empty if the kernel chose (ipvlan, passthru). IPoIB: 20 bytes, once known.
    std::string mac;
};

/// An RDMA device that was moved into the pod.
struct HeldRdma {
    std::uint32_t index = 0;     // survives renames and moves
    std::uint64_t node_guid = 0; // guards the index
    std::string name;            // on the host
};

/// What an attachment has through a step until that is undone. Others look for its record by this.
struct Holds {
    std::string
        device{}; // bus address, or the name of an interface without one; also of a device of which it has parts
    std::optional<Child> child{};
    std::optional<HeldRdma> rdma{};
    std::string device_info{}; // name of a device-info file
    /// What other programs owe keeps no device, interface or pod back, and may outlive the boot.
    bool is_for_others = false;
};

struct Step {
    std::string kind; // "move-link"
    std::string json; // an object
    Holds holds{};
};

/// Reads a step of a record. Throws json::ValueError for a kind that it does not know, and for an object that no
/// version has written.
using ReadStep = Step (*)(const json::Reader& step);

} // namespace rdmanet::state
