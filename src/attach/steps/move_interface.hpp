// Moves virtual interfaces (dummy, veth) for "host-device". They are identified by index, kind and MAC. The kernel
// destroys them with the namespace that they are in.
#pragma once

#include "context.hpp"
#include "kinds.hpp"
#include "link_settings.hpp"

#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <string>
#include <string_view>

namespace rdmanet::attach {

/// A virtual interface was moved into the pod. Undoing it moves the interface back and restores it. If the interface
/// is gone, there is nothing to undo: the pod removed it, or the kernel destroyed it with the pod's namespace.
struct MoveInterface {
    static constexpr std::string_view kKind = kMoveInterface;

    LinkBefore before;           // its `device` is also the name
    std::string kind;            // "dummy", "veth"
    unsigned ifindex = 0;        // on the host
    std::string ifname;          // name in the pod
    std::string mac_in_pod;      // the planned one until ADD has seen the link in the pod
    unsigned ifindex_in_pod = 0; // 0 until ADD has seen the link in the pod

    [[nodiscard]] static MoveInterface parse(const json::Reader& reader);
    void write(json::Writer& writer) const;
    [[nodiscard]] state::Holds holds() const { return {.device = before.device}; }
    [[nodiscard]] std::string describe() const;
    void revert(const RevertContext& context) const;
};

} // namespace rdmanet::attach
