#include "kinds.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/sysctl.hpp>

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::quoted;
using kernel::Link;
using kernel::Sysctl;
using state::SetRepresentor;

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

/// The MTU that the representor needs. None if the pod has no interface, because its driver is for user space.
std::optional<unsigned> mtu_for(const FoundDevice& device, const config::Config& config) {
    return device.link ? config.mtu : std::nullopt;
}

std::optional<Link> find_link_of(const SetRepresentor& step, kernel::Socket& route) {
    const auto pf = base::PciAddress::parse(step.pf);
    return pf ? find_link_of(kernel::representors_of(*pf), step.number, route) : std::nullopt;
}

/// Brings the representor up, and raises its MTU to the configured one. Never lowers the MTU: a bridge takes the
/// smallest MTU of its ports (br_mtu_auto_adjust()). If the representor is not a port of a bridge or the like, IPv6 is
/// disabled on it, because the host would otherwise accept what the pod sends, router advertisements for example.
void set_up_representor(FoundRepresentor& representor, const Call& call) {
    kernel::LinkChange change;
    if (representor.mtu) change.mtu = call.config->mtu;
    if (representor.was_down) change.state = kernel::AdminState::up;
    if (!change.mtu && !change.state) return;
    const unsigned ifindex = representor.link.ifindex;
    base::in_context(fmt::format("representor {}", quoted(representor.link.name)), [&] {
        if (representor.had_ipv6) switch_ipv6(representor.link, false);
        kernel::change_link(*call.host, ifindex, change);
        if (auto now = kernel::find_link(*call.host, ifindex)) representor.link = *std::move(now);
    });
}

/// `, MTU 1500 -> 9000`, or `, MTU 1500` if it stays.
std::string mtu_text(unsigned now, const std::optional<unsigned>& wanted) {
    return wanted && *wanted != now ? fmt::format(", MTU {} -> {}", now, *wanted) : fmt::format(", MTU {}", now);
}

class Representor final : public Step {
public:
    Representor(const FoundDevice& device, FoundRepresentor found)
        : address_(device.address), vf_(device.vf->of), name_(found.link.name), found_(std::move(found)) {}

    [[nodiscard]] std::vector<state::Step> recorded() const override {
        return {SetRepresentor{.pf = vf_.pf.to_string(),
                               .number = vf_.number,
                               .ifindex = found_.link.ifindex,
                               .name = name_,
                               .mtu = found_.mtu,
                               .was_down = found_.was_down,
                               .had_ipv6 = found_.had_ipv6,
                               .device = address_.to_string()}};
    }

    void describe(const Call& call, Description& description) const override {
        const std::string mtu = found_.mtu ? mtu_text(*found_.mtu, call.config->mtu) : std::string();
        const std::string text =
            fmt::format("{}{}{}", found_.was_down ? ", up" : "", mtu, found_.had_ipv6 ? ", without IPv6" : "");
        description.add.push_back(text.empty() ? fmt::format("leave its representor {} as it is", quoted(name_))
                                               : fmt::format("set its representor {}{}", quoted(name_), text));
    }

    void apply(const Call& call, Progress& /*progress*/) override { set_up_representor(found_, call); }

    /// Names the representor in the result, for whoever connects it on the host.
    void conclude(const Call& /*call*/, const Progress& /*progress*/, Conclusion& end) const override {
        const Link& link = found_.link;
        end.on_host = cni::Interface{.name = link.name, .mac = link.hardware_address_text(), .mtu = link.mtu};
    }

private:
    base::BusAddress address_; // of the VF
    kernel::VfOf vf_;
    std::string name_; // as recorded: it may be renamed later
    FoundRepresentor found_;
};

} // namespace

/// Finds the VF's representor by its number and port name, whatever its name. None if the PF is in legacy mode.
void RepresentorKind::find(const Call& call, Findings& found) {
    if (call.pod == nullptr || !found.device || !found.device->vf) return;
    FoundDevice& device = *found.device;
    const kernel::VfOf& vf = device.vf->of;
    const Representors representors = kernel::representors_of(vf.pf);
    if (representors.empty()) return;
    auto link = find_link_of(representors, vf.number, *call.host);
    if (!link) {
        call.log.warn(fmt::format("{} has no representor on the host, and its PF is in switchdev mode: the pod reaches "
                                  "nobody, unless another namespace connects the representor. `devlink port` names it",
                                  device.vf->id));
        return;
    }
    FoundRepresentor representor{.link = *std::move(link)};
    const auto mtu = mtu_for(device, *call.config);
    if (mtu && representor.link.mtu < *mtu) representor.mtu = representor.link.mtu;
    representor.was_down = !representor.link.is_up();
    representor.had_ipv6 = representor.was_down && !representor.link.master_ifindex && has_ipv6(representor.link);
    device.representor = std::move(representor);
}

std::unique_ptr<Step> RepresentorKind::make(const Call& /*call*/, const Findings& found) {
    if (!found.device || !found.device->representor) return nullptr;
    return std::make_unique<Representor>(*found.device, *found.device->representor);
}

/// Its name and a larger MTU are no difference: its bridge may need them.
void RepresentorKind::check(const Comparison& compared) {
    const state::AttachmentRecord& record = compared.record;
    const auto& mtu = compared.wanted.mtu;
    const auto* step = record.find_step<state::SetRepresentor>();
    if (compared.wanted.kind != "sriov" || !step) return;
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, compared.call.deadline);
    const auto link = find_link_of(*step, route);
    if (!link)
        differs(fmt::format("representor {} of {} is gone from the host", quoted(step->name), record.device()),
                kDeletePod);
    if (!link->is_up())
        differs(fmt::format("representor {} of {} is down, expected up", quoted(link->name), record.device()),
                fmt::format("run `ip link set {} up`", link->name));
    if (has_netdev(record) && mtu.value_or(0) > link->mtu)
        differs(fmt::format("representor {} of {} has MTU {}, expected at least {}", quoted(link->name),
                            record.device(), link->mtu, *mtu),
                fmt::format("run `ip link set {} mtu {}`", link->name, *mtu));
}

std::string RepresentorKind::describe(const Recorded& step) {
    return fmt::format("representor {} of VF {} of PF {}", quoted(step.name), step.number, step.pf);
}

ByHand RepresentorKind::by_hand(const Recorded& step, const base::Deadline& deadline) {
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    const auto link = find_link_of(step, route);
    if (!link) return {.text = "it is not on the host now: restore it when it is", .needs_record = true};
    if (link->ifindex != step.ifindex) return {.text = "nothing to do, because the PF has created another one since"};
    if (!step.mtu && !step.was_down) return {.text = "nothing to do"};
    return {.text =
                fmt::format("once the pod is gone, run `ip link set {}{}{}{}`", link->name,
                            step.mtu ? fmt::format(" mtu {}", *step.mtu) : std::string(), step.was_down ? " down" : "",
                            step.had_ipv6 ? fmt::format("; echo 0 >/proc/sys/net/ipv6/conf/{}/disable_ipv6", link->name)
                                          : std::string())};
}

void RepresentorKind::revert(const Recorded& step, const Undo& undo) {
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, undo.call.deadline);
    const auto link = find_link_of(step, route);
    if (!link || link->ifindex != step.ifindex) return; // the PF has created another one since: nothing to restore
    kernel::LinkChange change;
    if (step.mtu && *step.mtu != link->mtu) change.mtu = step.mtu;
    if (step.was_down && link->is_up()) change.state = kernel::AdminState::down;
    if (change.mtu || change.state) kernel::change_link(route, link->ifindex, change);
    if (step.had_ipv6 && !has_ipv6(*link)) switch_ipv6(*link, true);
}

} // namespace rdmanet::attach
