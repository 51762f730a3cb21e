#include "representor.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/sysctl.hpp>

#include <map>
#include <optional>
#include <string>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;
using kernel::Link;
using kernel::Sysctl;

using Representors = std::map<unsigned, std::string>;

std::optional<Link> find_link_of(const Representors& representors, unsigned vf, kernel::Socket& route) {
    const auto found = representors.find(vf);
    const auto name = found == representors.end() ? std::nullopt : base::InterfaceName::parse(found->second);
    return name ? kernel::find_link(route, *name) : std::nullopt;
}

bool has_ipv6(const Link& link) {
    const auto name = base::InterfaceName::parse(link.name);
    return name && kernel::find_sysctl(*name, Sysctl::disable_ipv6).value_or(1) == 0;
}

void switch_ipv6(const Link& link, bool on) {
    if (const auto name = base::InterfaceName::parse(link.name))
        kernel::write_sysctl(*name, Sysctl::disable_ipv6, on ? 0 : 1);
}

/// A pod without an interface, whose driver is one for user space, has no MTU either.
std::optional<unsigned> mtu_for(const DevicePlan& plan, const config::Config& config) {
    return plan.link ? config.mtu : std::nullopt;
}

std::optional<Link> find_representor(const state::SetRepresentor& step, kernel::Socket& route) {
    const auto pf = base::PciAddress::parse(step.pf);
    return pf ? find_link_of(kernel::representors_of(*pf), step.number, route) : std::nullopt;
}

} // namespace

std::optional<RepresentorPlan> plan_representor(const DevicePlan& plan, const config::Config& config,
                                                kernel::Socket& route, const base::Logger& log) {
    const kernel::VfOf& vf = plan.vf->of;
    const Representors representors = kernel::representors_of(vf.pf);
    if (representors.empty()) return std::nullopt;
    auto link = find_link_of(representors, vf.number, route);
    if (!link) {
        log.warn(concat(plan.vf->id,
                        " has no representor in the host's namespace, and its PF is in switchdev mode: the "
                        "pod reaches nobody but by what another namespace does with it. `devlink port` names it"));
        return std::nullopt;
    }
    state::SetRepresentor before{
        .pf = vf.pf.to_string(), .number = vf.number, .ifindex = link->ifindex, .name = link->name};
    before.device = plan.address.to_string();
    const auto mtu = mtu_for(plan, config);
    if (mtu && link->mtu < *mtu) before.mtu = link->mtu;
    before.was_down = !link->is_up();
    before.had_ipv6 = before.was_down && !link->master_ifindex && has_ipv6(*link);
    return RepresentorPlan{.link = *std::move(link), .before = std::move(before)};
}

void set_up_representor(RepresentorPlan& representor, const config::Config& config, const base::Deadline& deadline) {
    const state::SetRepresentor& before = representor.before;
    kernel::LinkChange change;
    if (before.mtu) change.mtu = config.mtu;
    if (before.was_down) change.state = kernel::AdminState::up;
    if (!change.mtu && !change.state) return;
    base::in_context(concat("representor ", quoted(before.name)), [&] {
        if (before.had_ipv6) switch_ipv6(representor.link, false);
        kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
        kernel::change_link(route, before.ifindex, change);
        if (auto now = kernel::find_link(route, before.ifindex)) representor.link = *std::move(now);
    });
}

void revert_step(const state::SetRepresentor& step, const RevertContext& context) {
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, context.deadline);
    const auto link = find_representor(step, route);
    if (!link || link->ifindex != step.ifindex) return; // the PF has made another since, in its own state
    kernel::LinkChange change;
    if (step.mtu && *step.mtu != link->mtu) change.mtu = step.mtu;
    if (step.was_down && link->is_up()) change.state = kernel::AdminState::down;
    if (change.mtu || change.state) kernel::change_link(route, link->ifindex, change);
    if (step.had_ipv6 && !has_ipv6(*link)) switch_ipv6(*link, true);
}

void check_representor(const std::optional<std::uint32_t>& mtu, const state::AttachmentRecord& record,
                       kernel::Socket& route) {
    const state::SetRepresentor* step = record.find_step<state::SetRepresentor>();
    if (step == nullptr) return;
    const auto link = find_representor(*step, route);
    if (!link) differs(concat("representor ", quoted(step->name), " of ", record.device(), " is gone from the host"));
    if (!link->is_up()) differs(concat("representor ", quoted(link->name), " of ", record.device(), " is down"));
    if (has_netdev(record) && mtu.value_or(0) > link->mtu)
        differs(concat("representor ", quoted(link->name), " of ", record.device(), " has MTU ", link->mtu,
                       ", expected at least ", *mtu));
}

} // namespace rdmanet::attach
