#include "registry.hpp"

#include "addressing.hpp"
#include "child_link.hpp"
#include "delegate.hpp"
#include "device.hpp"
#include "device_info.hpp"
#include "keep_device.hpp"
#include "move_interface.hpp"
#include "move_link.hpp"
#include "move_rdma.hpp"
#include "rebind_driver.hpp"
#include "representor.hpp"
#include "reset_function.hpp"
#include "use_rdma.hpp"
#include "vf_settings.hpp"

#include <iterator>
#include <memory>
#include <variant>

namespace rdmanet::attach {
namespace {

struct Kind {
    std::unique_ptr<Step> (*plan)(const AddContext& context, const Findings& found);
    void (*check)(const CheckContext& context);
};

void check_nothing(const CheckContext& /*context*/) {}

/// In the order of doing. Undone is a record, in the order in which it was written, from its end. Four steps do
/// nothing forwards, and are where their work belongs on the way back: a device's interface gets what it had when it
/// is home; a driver is bound anew, and a function reset, when the VF has its settings again; an InfiniBand interface
/// is waited for when its RDMA device is home.
constexpr Kind kKinds[] = {
    {make_keep_device, check_keep_device}, {make_rebind_after, check_nothing},
    {make_reset_after, check_nothing},     {make_vf_settings, check_vf_settings},
    {make_representor, check_representor}, {make_rebind, check_nothing},
    {make_child_link, check_child_link},   {make_move_interface, check_move_interface},
    {make_move_link, check_move_link},     {make_move_rdma, check_move_rdma},
    {make_follow_link, check_nothing},     {make_share_rdma, check_nothing},
    {make_delegate, check_nothing},        {make_addressing, check_addressing},
    {make_await_rdma, check_rdma},         {make_device_info, check_nothing},
};

} // namespace

Findings find_out(const AddContext& context, const std::optional<Movable>& moving) {
    const auto& [request, config, attachment, pod, deadline] = context;
    Findings found;
    if (const auto* device = moving ? std::get_if<base::BusAddress>(&*moving) : nullptr)
        found.device = plan_device(request, config, attachment, pod, *device, deadline);
    else if (const auto* name = moving ? std::get_if<std::string>(&*moving) : nullptr)
        found.interface = plan_interface(*name, request, config, attachment, pod, deadline);
    else
        found.parent = plan_child(request, config, attachment, pod, deadline);
    return found;
}

Steps plan_steps(const AddContext& context, const Findings& found) {
    Steps steps;
    for (const Kind& kind : kKinds)
        if (auto step = kind.plan(context, found)) steps.push_back(std::move(step));
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
    for (const Kind& kind : kKinds) kind.check(context);
}

bool is_move(const state::Step& step) {
    return state::is_any_of<state::MoveLink, state::MoveRdma>(step);
}

bool waits_for(const state::Step& step, const state::Step& other) {
    if (state::is_any_of<state::SetVf, state::ResetFunction, state::RebindDriver>(step)) return is_move(other);
    return state::is_any_of<state::KeepDevice>(step) && state::is_any_of<state::MoveLink>(other);
}

bool is_spoilt_by(const state::Step& step, const state::Step& owed) {
    if (state::is_any_of<state::KeepDevice>(step)) // drivers make the net device anew, on InfiniBand RDMA's move does
        return state::is_any_of<state::RebindDriver, state::ResetFunction, state::MoveRdma>(owed);
    if (state::is_any_of<state::RebindDriver, state::ResetFunction>(step)) // the driver takes what the PF has set
        return state::is_any_of<state::SetVf>(owed);
    return false;
}

std::string describe(const state::Step& step) {
    return std::visit([](const auto& concrete) { return describe_step(concrete); }, step);
}

void revert(const state::Step& step, const RevertContext& context) {
    std::visit([&](const auto& concrete) { revert_step(concrete, context); }, step);
}

} // namespace rdmanet::attach
