#include "registry.hpp"

#include "child_link.hpp"
#include "delegate.hpp"
#include "device_info.hpp"
#include "keep_device.hpp"
#include "move_interface.hpp"
#include "move_link.hpp"
#include "move_rdma.hpp"
#include "rebind_driver.hpp"
#include "representor.hpp"
#include "reset_function.hpp"
#include "vf_settings.hpp"

#include <rdmanet/base/text.hpp>

#include <variant>

namespace rdmanet::attach {
namespace {

using base::concat;

std::string describe_step(const state::CreateLink& step) {
    return concat("interface \"", step.ifname, '"');
}
std::string describe_step(const state::KeepDevice& step) {
    return concat("device ", step.device);
}
std::string describe_step(const state::RebindDriver& step) {
    return concat("driver of ", step.device);
}
std::string describe_step(const state::ResetFunction& step) {
    return concat("reset of ", step.device);
}
std::string describe_step(const state::SetVf& step) {
    return concat("settings of VF ", step.number, " of PF ", step.pf);
}
std::string describe_step(const state::SetRepresentor& step) {
    return concat("representor \"", step.name, "\" of VF ", step.number, " of PF ", step.pf);
}
std::string describe_step(const state::MoveLink& step) {
    return concat("net device of ", step.device);
}
std::string describe_step(const state::MoveInterface& step) {
    return concat("interface \"", step.before.name, '"');
}
std::string describe_step(const state::MoveRdma& step) {
    return concat("RDMA device \"", step.name, "\" of ", step.device);
}
std::string describe_step(const state::WriteDeviceInfo& step) {
    return concat("device-info file ", step.path);
}
std::string describe_step(const state::DelegateIpam& step) {
    return concat("addresses of IPAM plugin \"", step.plugin, '"');
}

} // namespace

bool is_move(const state::Step& step) {
    return state::is_any_of<state::MoveLink, state::MoveRdma>(step);
}

bool waits_for(const state::Step& step, const state::Step& other) {
    if (state::is_any_of<state::SetVf, state::ResetFunction, state::RebindDriver>(step)) return is_move(other);
    return state::is_any_of<state::KeepDevice>(step) && state::is_any_of<state::MoveLink>(other);
}

std::string describe(const state::Step& step) {
    return std::visit([](const auto& concrete) { return describe_step(concrete); }, step);
}

void revert(const state::Step& step, const RevertContext& context) {
    std::visit([&](const auto& concrete) { revert_step(concrete, context); }, step);
}

} // namespace rdmanet::attach
