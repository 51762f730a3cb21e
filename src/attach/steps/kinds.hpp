// All kinds of steps. Each is in one file, with all that can happen to it; two kinds of one thing share a file (a
// driver is bound again in ADD and after the pod). A kind has those of these static functions that it needs:
//
//   find()       finds out what the step is planned from. Reads the kernel and changes nothing. Throws CniError with
//                the fix
//   make()       the step of an ADD; null if the attachment needs none
//   check()      throws CniError (code 107) for the first difference
//
// and, if there is something to undo, for the value that the record has (rdmanet/state/step.hpp):
//
//   describe()   what is still held, for messages: `interface "net1"`
//   by_hand()    what a person does in place of revert(). Without it, the recorded values are all that is said. A
//                command in it must be safe, and do what revert() does
//   revert()     undoes a step that was applied, half applied or never begun. Safe to repeat. Throws if something is
//                left
#pragma once

#include "step.hpp"
#include "undo.hpp"

#include <memory>
#include <string>

namespace rdmanet::attach {

/// Restores the net device's settings at the end, when the net device is back on the host. It comes first, so that it
/// is undone last.
struct DeviceBaselineKind {
    using Recorded = state::DeviceBaseline;
    static void find(const Call& call, Findings& found);
    [[nodiscard]] static std::unique_ptr<Step> make(const Call& call, const Findings& found);
    static void check(const Comparison& compared);
    [[nodiscard]] static std::string describe(const Recorded& step);
    [[nodiscard]] static ByHand by_hand(const Recorded& step, const base::Deadline& deadline);
    static void revert(const Recorded& step, const Undo& undo);
};

/// Binds the driver of an InfiniBand VF again at the end, when the PF has set the old GUIDs.
struct RebindAfterKind {
    using Recorded = state::RebindDriver;
    [[nodiscard]] static std::unique_ptr<Step> make(const Call& call, const Findings& found);
    [[nodiscard]] static std::string describe(const Recorded& step);
    [[nodiscard]] static ByHand by_hand(const Recorded& step, const base::Deadline& deadline);
    static void revert(const Recorded& step, const Undo& undo);
};

/// Resets the function at the end, when the VF has its settings again: the driver takes MAC and GUIDs from them.
struct ResetAfterKind {
    using Recorded = state::ResetFunction;
    static void find(const Call& call, Findings& found);
    [[nodiscard]] static std::unique_ptr<Step> make(const Call& call, const Findings& found);
    [[nodiscard]] static std::string describe(const Recorded& step);
    [[nodiscard]] static ByHand by_hand(const Recorded& step, const base::Deadline& deadline);
    static void revert(const Recorded& step, const Undo& undo);
};

/// Sets a VF through its PF.
struct VfSettingsKind {
    using Recorded = state::SetVf;
    static void find(const Call& call, Findings& found);
    [[nodiscard]] static std::unique_ptr<Step> make(const Call& call, const Findings& found);
    static void check(const Comparison& compared);
    [[nodiscard]] static std::string describe(const Recorded& step);
    [[nodiscard]] static ByHand by_hand(const Recorded& step, const base::Deadline& deadline);
    static void revert(const Recorded& step, const Undo& undo);
};

/// Sets the host's end of a VF whose PF is in switchdev mode.
struct RepresentorKind {
    using Recorded = state::SetRepresentor;
    static void find(const Call& call, Findings& found);
    [[nodiscard]] static std::unique_ptr<Step> make(const Call& call, const Findings& found);
    static void check(const Comparison& compared);
    [[nodiscard]] static std::string describe(const Recorded& step);
    [[nodiscard]] static ByHand by_hand(const Recorded& step, const base::Deadline& deadline);
    static void revert(const Recorded& step, const Undo& undo);
};

/// Binds the driver of an InfiniBand VF again, so that it takes the GUIDs that the PF has set.
struct RebindKind {
    static void find(const Call& call, Findings& found);
    [[nodiscard]] static std::unique_ptr<Step> make(const Call& call, const Findings& found);
};

/// Creates a macvlan, ipvlan or IPoIB child. The kernel returns an IPoIB child to the host when its namespace ends;
/// there its hardware address identifies it.
struct ChildLinkKind {
    using Recorded = state::CreateLink;
    static void find(const Call& call, Findings& found);
    [[nodiscard]] static std::unique_ptr<Step> make(const Call& call, const Findings& found);
    static void check(const Comparison& compared);
    [[nodiscard]] static std::string describe(const Recorded& step);
    [[nodiscard]] static ByHand by_hand(const Recorded& step, const base::Deadline& deadline);
    static void revert(const Recorded& step, const Undo& undo);
};

/// Moves a virtual interface (dummy, veth) for "host-device". It is identified by index, kind and MAC. If it is gone,
/// there is nothing to undo: the pod removed it, or the kernel destroyed it with the pod's namespace.
struct MoveInterfaceKind {
    using Recorded = state::MoveInterface;
    static void find(const Call& call, Findings& found);
    [[nodiscard]] static std::unique_ptr<Step> make(const Call& call, const Findings& found);
    static void check(const Comparison& compared);
    [[nodiscard]] static std::string describe(const Recorded& step);
    static void revert(const Recorded& step, const Undo& undo);
};

/// Moves a device's net device into the pod and back, or waits until the kernel has returned it. On InfiniBand it only
/// moves it back, when the RDMA device is back.
struct MoveLinkKind {
    using Recorded = state::MoveLink;
    static void find(const Call& call, Findings& found);
    [[nodiscard]] static std::unique_ptr<Step> make(const Call& call, const Findings& found);
    static void check(const Comparison& compared);
    [[nodiscard]] static std::string describe(const Recorded& step);
    [[nodiscard]] static ByHand by_hand(const Recorded& step, const base::Deadline& deadline);
    static void revert(const Recorded& step, const Undo& undo);
};

/// Moves the RDMA devices of a device into the pod and back, or waits until the kernel has returned them.
struct MoveRdmaKind {
    using Recorded = state::MoveRdma;
    static void find(const Call& call, Findings& found);
    [[nodiscard]] static std::unique_ptr<Step> make(const Call& call, const Findings& found);
    static void check(const Comparison& compared);
    [[nodiscard]] static std::string describe(const Recorded& step);
    [[nodiscard]] static ByHand by_hand(const Recorded& step, const base::Deadline& deadline);
    static void revert(const Recorded& step, const Undo& undo);
};

/// Moves the IPoIB interface that the kernel makes anew when its RDMA device has moved.
struct FollowLinkKind {
    static void find(const Call& call, Findings& found);
    [[nodiscard]] static std::unique_ptr<Step> make(const Call& call, const Findings& found);
};

/// Sets "promisc" and "allmulti" of the pod's interface.
struct ReceiveModeKind {
    [[nodiscard]] static std::unique_ptr<Step> make(const Call& call, const Findings& found);
    static void check(const Comparison& compared);
};

/// Asks another IPAM plugin for addresses. Undoing calls it with DEL and the same input or, if that fails, with the
/// present configuration of DEL's caller.
struct DelegateKind {
    using Recorded = state::DelegateIpam;
    [[nodiscard]] static std::unique_ptr<Step> make(const Call& call, const Findings& found);
    [[nodiscard]] static std::string describe(const Recorded& step);
    [[nodiscard]] static ByHand by_hand(const Recorded& step, const base::Deadline& deadline);
    static void revert(const Recorded& step, const Undo& undo);
};

/// Sets addresses and routes.
struct AddressingKind {
    static void find(const Call& call, Findings& found);
    [[nodiscard]] static std::unique_ptr<Step> make(const Call& call, const Findings& found);
    static void check(const Comparison& compared);
};

/// Chooses the RDMA device on the host that the pod shares, if it shares one. Waits until the port is active and has
/// the GIDs of the addresses, also for an RDMA device that moved.
struct RdmaPortKind {
    static void find(const Call& call, Findings& found);
    [[nodiscard]] static std::unique_ptr<Step> make(const Call& call, const Findings& found);
    static void check(const Comparison& compared);
};

/// Writes the device-info file, which Multus copies into the pod's network status (Network Plumbing Working Group,
/// Device Information Specification 1.1.0).
struct DeviceInfoKind {
    using Recorded = state::WriteDeviceInfo;
    [[nodiscard]] static std::unique_ptr<Step> make(const Call& call, const Findings& found);
    [[nodiscard]] static std::string describe(const Recorded& step);
    [[nodiscard]] static ByHand by_hand(const Recorded& step, const base::Deadline& deadline);
    static void revert(const Recorded& step, const Undo& undo);
};

template <class... Each>
struct KindList {};

/// In the order in which ADD applies them. A record is undone from its end, in the order in which it was written.
using Kinds = KindList<DeviceBaselineKind, RebindAfterKind, ResetAfterKind, VfSettingsKind, RepresentorKind, RebindKind,
                       ChildLinkKind, MoveInterfaceKind, MoveLinkKind, MoveRdmaKind, FollowLinkKind, ReceiveModeKind,
                       DelegateKind, AddressingKind, RdmaPortKind, DeviceInfoKind>;

} // namespace rdmanet::attach
