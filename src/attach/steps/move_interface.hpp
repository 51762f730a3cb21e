// Interfaces of no bus (dummy, veth), which "host-device" moves as well: known by index, kind and MAC, and lost with
// the namespace that they are in.
#pragma once

#include "check_context.hpp"
#include "context.hpp"
#include "findings.hpp"
#include "kinds.hpp"
#include "link_settings.hpp"
#include "step.hpp"

#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace rdmanet::attach {

/// An interface without a bus address (dummy, veth) was moved into the pod. Undone by moving it to the host and
/// making it as it was. Gone with the pod's namespace, or removed by the pod, is undone: the kernel gives back none
/// of these.
struct MoveInterface {
    static constexpr std::string_view kKind = kMoveInterface;

    LinkBefore before;           // `device` is its name, too
    std::string kind;            // "dummy", "veth"
    unsigned ifindex = 0;        // on the host
    std::string ifname;          // name in the pod
    std::string mac_in_pod;      // until the link was seen there: the one that it shall have
    unsigned ifindex_in_pod = 0; // 0 until the link was seen

    [[nodiscard]] static MoveInterface parse(const json::Reader& reader);
    void write(json::Writer& writer) const;
    [[nodiscard]] state::Holds holds() const { return {.device = before.device}; }
    [[nodiscard]] std::string describe() const;
    void revert(const RevertContext& context) const;
};

/// Throws CniError for what the interface can't have, or the pod has against its name.
void find_move_interface(const PlanContext& context, Findings& found);

/// Null if the attachment needs none.
[[nodiscard]] std::unique_ptr<Step> make_move_interface(const AddContext& context, const Findings& found);

/// Throws CniError (code 107) for what differs.
void check_move_interface(const CheckContext& context);

} // namespace rdmanet::attach
