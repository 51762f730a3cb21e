#include "registry.hpp"

#include "child_link.hpp"
#include "delegate.hpp"
#include "device_info.hpp"
#include "keep_device.hpp"
#include "move_interface.hpp"
#include "move_link.hpp"
#include "move_rdma.hpp"
#include "rebind_driver.hpp"
#include "recorded.hpp"
#include "representor.hpp"
#include "reset_function.hpp"
#include "subject.hpp"
#include "vf_settings.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

namespace rdmanet::attach {
namespace {

/// All kinds, in the order in which ADD applies them. A record is undone from its end, in the order in which it was
/// written. Four kinds do nothing in ADD; their place in the list decides when their undo comes:
/// - kKeepDeviceStep restores the interface's settings last, when the interface is back on the host.
/// - kRebindAfterStep and kResetAfterStep come after the VF has its settings again.
/// - the InfiniBand variant of kMoveLinkStep waits for the interface when the RDMA device is back.
constexpr const Kind* kKinds[] = {
    &kKeepDeviceStep, &kRebindAfterStep,   &kResetAfterStep, &kVfSettingsStep, &kRepresentorStep, &kRebindStep,
    &kChildLinkStep,  &kMoveInterfaceStep, &kMoveLinkStep,   &kMoveRdmaStep,   &kFollowLinkStep,  &kShareRdmaStep,
    &kDelegateStep,   &kAddressingStep,    &kAwaitRdmaStep,  &kDeviceInfoStep,
};

/// The functions and relations of one kind of recorded step: see recorded.hpp.
struct RecordedKind {
    std::string_view name;
    state::Step (*read)(const json::Reader& reader);
    void (*name_device)(state::Step& step, const std::string& device);
    std::string (*describe)(const state::Step& step);
    std::optional<ByHand> (*by_hand)(const state::Step& step, const base::Deadline& deadline);
    void (*revert)(const state::Step& step, const RevertContext& context);
    std::span<const std::string_view> waits_for{};
    std::span<const std::string_view> spoilt_by{};
};

template <class Value>
void name_device_of(state::Step& step, const std::string& device) {
    if constexpr (requires(Value & value) { value.device; }) {
        Value value = parse_if<Value>(step).value();
        value.device = device;
        step = to_record(value);
    }
}

template <class Value>
std::optional<ByHand> by_hand_of(const state::Step& step, const base::Deadline& deadline) {
    if constexpr (requires(const Value& value) { value.by_hand(deadline); })
        return parse_if<Value>(step).value().by_hand(deadline);
    else
        return std::nullopt;
}

template <class Value>
constexpr RecordedKind recorded_as() {
    RecordedKind kind{.name = Value::kKind,
                      .read = [](const json::Reader& reader) { return to_record(Value::parse(reader)); },
                      .name_device = name_device_of<Value>,
                      .describe = [](const state::Step& step) { return parse_if<Value>(step).value().describe(); },
                      .by_hand = by_hand_of<Value>,
                      .revert = [](const state::Step& step,
                                   const RevertContext& context) { parse_if<Value>(step).value().revert(context); }};
    if constexpr (requires { Value::kWaitsFor; }) kind.waits_for = Value::kWaitsFor;
    if constexpr (requires { Value::kSpoiltBy; }) kind.spoilt_by = Value::kSpoiltBy;
    return kind;
}

constexpr RecordedKind kRecordedKinds[] = {
    recorded_as<CreateLink>(),    recorded_as<KeepDevice>(),      recorded_as<RebindDriver>(),
    recorded_as<ResetFunction>(), recorded_as<SetVf>(),           recorded_as<SetRepresentor>(),
    recorded_as<MoveLink>(),      recorded_as<MoveInterface>(),   recorded_as<MoveRdma>(),
    recorded_as<DelegateIpam>(),  recorded_as<WriteDeviceInfo>(),
};

const RecordedKind* find_recorded(std::string_view name) {
    const auto* found = std::find_if(std::begin(kRecordedKinds), std::end(kRecordedKinds),
                                     [&](const RecordedKind& kind) { return kind.name == name; });
    return found == std::end(kRecordedKinds) ? nullptr : found;
}

/// A record has only known kinds: read_step() refuses others.
const RecordedKind& recorded_kind(const state::Step& step) {
    const RecordedKind* const kind = find_recorded(step.kind);
    if (kind == nullptr) throw base::Error(fmt::format("unknown step {}", base::quoted(step.kind)));
    return *kind;
}

bool is_among(std::span<const std::string_view> kinds, const state::Step& step) {
    return std::find(kinds.begin(), kinds.end(), step.kind) != kinds.end();
}

} // namespace

Findings find_out(const PlanContext& context, const std::optional<Movable>& moving) {
    Findings found = find_subject(context, moving);
    if (found.device && found.device->is_settled) return found;
    for (const Kind* kind : kKinds) kind->find(context, found);
    return found;
}

Steps plan_steps(const AddContext& context, const Findings& found) {
    Steps steps;
    for (const Kind* kind : kKinds)
        if (auto step = kind->make(context, found)) steps.push_back(std::move(step));
    return steps;
}

std::vector<state::Step> recorded(const Steps& steps) {
    std::vector<state::Step> all;
    for (const auto& step : steps) {
        std::vector<state::Step> each = step->recorded();
        std::move(each.begin(), each.end(), std::back_inserter(all));
    }
    return all;
}

std::string rdma_device_of(const Steps& steps) {
    for (const auto& step : steps)
        if (std::string device = step->rdma_device(); !device.empty()) return device;
    return {};
}

void check_steps(const CheckContext& context) {
    for (const Kind* kind : kKinds) kind->check(context);
}

state::Step read_step(const json::Reader& reader) {
    const json::Reader name = reader.at("step");
    const RecordedKind* const kind = find_recorded(name.string());
    if (kind == nullptr) throw name.unexpected("a known step");
    return kind->read(reader);
}

void name_device(state::Step& step, const std::string& device) {
    if (step.holds.device.empty()) recorded_kind(step).name_device(step, device);
}

bool is_move(const state::Step& step) {
    return step.kind == kMoveLink || step.kind == kMoveRdma;
}

bool waits_for(const state::Step& step, const state::Step& other) {
    return is_among(recorded_kind(step).waits_for, other);
}

bool is_spoilt_by(const state::Step& step, const state::Step& later) {
    return is_among(recorded_kind(step).spoilt_by, later);
}

std::string describe(const state::Step& step) {
    return recorded_kind(step).describe(step);
}

std::string describe_unreverted(const state::Step& step, const base::Deadline& deadline) try {
    const auto by_hand = recorded_kind(step).by_hand(step, deadline);
    std::string text = describe(step);
    if (by_hand) text += fmt::format(": {}", by_hand->text);
    if (!by_hand || by_hand->needs_record) text += fmt::format(", recorded as {}", step.json);
    return text;
} catch (const base::Error&) { // the kernel cannot be asked
    return fmt::format("{}, recorded as {}", describe(step), step.json);
}

void revert(const state::Step& step, const RevertContext& context) {
    recorded_kind(step).revert(step, context);
}

} // namespace rdmanet::attach
