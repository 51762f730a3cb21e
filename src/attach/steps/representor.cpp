#include "representor.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/sysctl.hpp>

#include <map>
#include <optional>
#include <string>
#include <utility>

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
std::optional<unsigned> mtu_for(const FoundDevice& plan, const config::Config& config) {
    return plan.link ? config.mtu : std::nullopt;
}

std::optional<Link> find_representor(const state::SetRepresentor& step, kernel::Socket& route) {
    const auto pf = base::PciAddress::parse(step.pf);
    return pf ? find_link_of(kernel::representors_of(*pf), step.number, route) : std::nullopt;
}

/// Raises its MTU to the pod's, if one is configured, and brings it up. Never lowers it: a bridge has the least of its
/// ports' MTUs (br_mtu_auto_adjust()). IPv6 is switched off on one that is no port of a bridge or the like, where the
/// host itself would take what the pod sends, router advertisements among it.
void set_up_representor(FoundRepresentor& representor, const config::Config& config, const base::Deadline& deadline) {
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

/// ", MTU 1500 -> 9000", ", MTU 1500" of what stays so.
std::string mtu_text(unsigned now, const std::optional<unsigned>& wanted) {
    return wanted && *wanted != now ? concat(", MTU ", now, " -> ", *wanted) : concat(", MTU ", now);
}

class Representor final : public Step {
public:
    explicit Representor(FoundRepresentor representor) : representor_(std::move(representor)) {}

    [[nodiscard]] std::vector<state::Step> recorded() const override { return {representor_.before}; }

    void describe(const AddContext& context, Description& description) const override {
        const state::SetRepresentor& before = representor_.before;
        const std::string mtu = before.mtu ? mtu_text(*before.mtu, context.config.mtu) : std::string();
        const std::string text = concat(before.was_down ? ", up" : "", mtu, before.had_ipv6 ? ", without IPv6" : "");
        description.add.push_back(text.empty() ? concat("leave its representor ", quoted(before.name), " as it is")
                                               : concat("set its representor ", quoted(before.name), text));
    }

    void apply(const AddContext& context, Progress& /*progress*/) override {
        set_up_representor(representor_, context.config, context.deadline);
    }

    /// For whoever connects it on the host.
    void conclude(const AddContext& /*context*/, const Progress& /*progress*/, Conclusion& end) const override {
        const Link& link = representor_.link;
        end.on_host = cni::Interface{.name = link.name, .mac = link.hardware_address_text(), .mtu = link.mtu};
    }

private:
    FoundRepresentor representor_;
};

} // namespace

std::optional<FoundRepresentor> plan_representor(const FoundDevice& plan, const config::Config& config,
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
    return FoundRepresentor{.link = *std::move(link), .before = std::move(before)};
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

std::unique_ptr<Step> make_representor(const AddContext& /*context*/, const Findings& found) {
    if (!found.device || !found.device->representor) return nullptr;
    return std::make_unique<Representor>(*found.device->representor);
}

/// Its name, and a larger MTU, are its bridge's matter.
void check_representor(const CheckContext& context) {
    const state::AttachmentRecord& record = context.record;
    const auto& mtu = context.wanted.mtu;
    const state::SetRepresentor* step = record.find_step<state::SetRepresentor>();
    if (context.wanted.kind != "sriov" || step == nullptr) return;
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, context.deadline);
    const auto link = find_representor(*step, route);
    if (!link) differs(concat("representor ", quoted(step->name), " of ", record.device(), " is gone from the host"));
    if (!link->is_up()) differs(concat("representor ", quoted(link->name), " of ", record.device(), " is down"));
    if (has_netdev(record) && mtu.value_or(0) > link->mtu)
        differs(concat("representor ", quoted(link->name), " of ", record.device(), " has MTU ", link->mtu,
                       ", expected at least ", *mtu));
}

std::string describe_step(const state::SetRepresentor& step) {
    return concat("representor \"", step.name, "\" of VF ", step.number, " of PF ", step.pf);
}

} // namespace rdmanet::attach
