#include "registry.hpp"

#include "kinds.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>

#include <concepts>
#include <iterator>
#include <variant>

namespace rdmanet::attach {
namespace {

using state::DelegateIpam;
using state::DeviceBaseline;
using state::MoveLink;
using state::MoveRdma;
using state::RebindDriver;
using state::ResetFunction;
using state::SetVf;

/// Calls act.operator()<Kind>() for each kind in order.
template <class Act, class... Each>
void for_each(KindList<Each...> /*kinds*/, const Act& act) {
    (act.template operator()<Each>(), ...);
}

template <class Recorded, class List>
struct KindOf;
template <class Recorded, class First, class... Others>
struct KindOf<Recorded, KindList<First, Others...>> : KindOf<Recorded, KindList<Others...>> {};
template <class Recorded, class First, class... Others>
requires std::same_as<typename First::Recorded, Recorded>
struct KindOf<Recorded, KindList<First, Others...>> : First {
};

/// Calls act(value, kind) with the step's value and its kind.
template <class Act>
decltype(auto) visit(const state::Step& step, const Act& act) {
    return std::visit([&](const auto& value) { return act(value, KindOf<std::decay_t<decltype(value)>, Kinds>()); },
                      step);
}

std::optional<ByHand> by_hand(const state::Step& step, const base::Deadline& deadline) {
    return visit(step, [&](const auto& value, auto kind) -> std::optional<ByHand> {
        if constexpr (requires { kind.by_hand(value, deadline); })
            return kind.by_hand(value, deadline);
        else
            return std::nullopt;
    });
}

} // namespace

Findings find(const Call& call, const std::optional<Movable>& moving, const kernel::Link* locked_parent) {
    Findings found{.moving = moving, .locked_parent = locked_parent};
    for_each(Kinds(), [&]<class Kind>() {
        if constexpr (requires { Kind::find(call, found); })
            if (!found.is_settled()) Kind::find(call, found);
    });
    return found;
}

Steps make(const Call& call, const Findings& found) {
    Steps steps;
    for_each(Kinds(), [&]<class Kind>() {
        if (auto step = Kind::make(call, found)) steps.push_back(std::move(step));
    });
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

void check_steps(const Comparison& compared) {
    for_each(Kinds(), [&]<class Kind>() {
        if constexpr (requires { Kind::check(compared); }) Kind::check(compared);
    });
}

bool is_move(const state::Step& step) {
    return state::is_any_of<MoveLink, MoveRdma>(step);
}

bool waits_for(const state::Step& step, const state::Step& other) {
    // The pod must not get the host's settings, and the driver must be bound on the host.
    if (state::is_any_of<SetVf, RebindDriver, ResetFunction>(step)) return is_move(other);
    return state::is_any_of<DeviceBaseline>(step) && state::is_any_of<MoveLink>(other);
}

bool is_spoilt_by(const state::Step& step, const state::Step& later) {
    // These create the net device again. On InfiniBand, moving the RDMA device does.
    if (state::is_any_of<DeviceBaseline>(step)) return state::is_any_of<RebindDriver, ResetFunction, MoveRdma>(later);
    // The driver takes what the PF has set.
    return state::is_any_of<RebindDriver, ResetFunction>(step) && state::is_any_of<SetVf>(later);
}

std::string describe(const state::Step& step) {
    return visit(step, [](const auto& value, auto kind) { return kind.describe(value); });
}

std::string describe_unreverted(const state::Step& step, const base::Deadline& deadline) try {
    const auto instead = by_hand(step, deadline);
    std::string text = describe(step);
    if (instead) text += fmt::format(": {}", instead->text);
    if (!instead || instead->needs_record) text += fmt::format(", recorded as {}", state::to_text(step));
    return text;
} catch (const base::Error&) { // the kernel cannot be asked
    return fmt::format("{}, recorded as {}", describe(step), state::to_text(step));
}

void revert(const state::Step& step, const Undo& undo) {
    visit(step, [&](const auto& value, auto kind) { kind.revert(value, undo); });
}

} // namespace rdmanet::attach
