// All kinds of steps, and their names in records: kMoveLink is the name of a step in a record, and kMoveLinkStep the
// kind that plans and checks such steps. They are all here, so that the files of steps need not include each other:
// steps name the steps that their undo waits for.
#pragma once

#include <rdmanet/state/attachment_record.hpp>

#include <algorithm>
#include <string_view>

namespace rdmanet::attach {

inline constexpr std::string_view kCreateLink = "create-link";
inline constexpr std::string_view kKeepDevice = "keep-device";
inline constexpr std::string_view kRebindDriver = "rebind-driver";
inline constexpr std::string_view kResetFunction = "reset-function";
inline constexpr std::string_view kSetVf = "set-vf";
inline constexpr std::string_view kSetRepresentor = "set-representor";
inline constexpr std::string_view kMoveLink = "move-link";
inline constexpr std::string_view kMoveInterface = "move-interface";
inline constexpr std::string_view kMoveRdma = "move-rdma";
inline constexpr std::string_view kWriteDeviceInfo = "write-device-info";
inline constexpr std::string_view kDelegateIpam = "delegate-ipam";

[[nodiscard]] inline bool has_step(const state::AttachmentRecord& record, std::string_view kind) {
    return std::any_of(record.steps.begin(), record.steps.end(),
                       [&](const state::Step& step) { return step.kind == kind; });
}

// Each is defined with constinit in the file of its step, because the registry has their order and uses them from the
// start.
struct Kind; // step.hpp
extern const Kind kKeepDeviceStep;
extern const Kind kRebindAfterStep;
extern const Kind kResetAfterStep;
extern const Kind kVfSettingsStep;
extern const Kind kRepresentorStep;
extern const Kind kRebindStep;
extern const Kind kChildLinkStep;
extern const Kind kMoveInterfaceStep;
extern const Kind kMoveLinkStep;
extern const Kind kMoveRdmaStep;
extern const Kind kFollowLinkStep;
extern const Kind kShareRdmaStep;
extern const Kind kDelegateStep;
extern const Kind kAddressingStep;
extern const Kind kAwaitRdmaStep;
extern const Kind kDeviceInfoStep;

} // namespace rdmanet::attach
