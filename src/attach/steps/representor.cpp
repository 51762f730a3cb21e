#include "representor.hpp"

#include "recorded.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/sysctl.hpp>
#include <rdmanet/state/members.hpp>

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
std::optional<unsigned> mtu_for(const FoundDevice& device, const config::Config& config) {
    return device.link ? config.mtu : std::nullopt;
}

std::optional<Link> find_link_of(const SetRepresentor& step, kernel::Socket& route) {
    const auto pf = base::PciAddress::parse(step.pf);
    return pf ? find_link_of(kernel::representors_of(*pf), step.number, route) : std::nullopt;
}

/// Raises its MTU to the pod's, if one is configured, and brings it up. Never lowers it: a bridge has the least of
/// its ports' MTUs (br_mtu_auto_adjust()). IPv6 is switched off on one that is no port of a bridge or the like, where
/// the host itself would take what the pod sends, router advertisements among it.
void set_up_representor(FoundRepresentor& representor, const config::Config& config, const base::Deadline& deadline) {
    kernel::LinkChange change;
    if (representor.mtu) change.mtu = config.mtu;
    if (representor.was_down) change.state = kernel::AdminState::up;
    if (!change.mtu && !change.state) return;
    const unsigned ifindex = representor.link.ifindex;
    base::in_context(concat("representor ", quoted(representor.link.name)), [&] {
        if (representor.had_ipv6) switch_ipv6(representor.link, false);
        kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
        kernel::change_link(route, ifindex, change);
        if (auto now = kernel::find_link(route, ifindex)) representor.link = *std::move(now);
    });
}

/// ", MTU 1500 -> 9000", ", MTU 1500" of what stays so.
std::string mtu_text(unsigned now, const std::optional<unsigned>& wanted) {
    return wanted && *wanted != now ? concat(", MTU ", now, " -> ", *wanted) : concat(", MTU ", now);
}

class Representor final : public Step {
public:
    Representor(const FoundDevice& device, FoundRepresentor found)
        : address_(device.address), vf_(device.vf->of), name_(found.link.name), found_(std::move(found)) {}

    [[nodiscard]] std::vector<state::Step> recorded() const override {
        return {to_record(SetRepresentor{.pf = vf_.pf.to_string(),
                                         .number = vf_.number,
                                         .ifindex = found_.link.ifindex,
                                         .name = name_,
                                         .mtu = found_.mtu,
                                         .was_down = found_.was_down,
                                         .had_ipv6 = found_.had_ipv6,
                                         .device = address_.to_string()})};
    }

    void describe(const AddContext& context, Description& description) const override {
        const std::string mtu = found_.mtu ? mtu_text(*found_.mtu, context.config.mtu) : std::string();
        const std::string text = concat(found_.was_down ? ", up" : "", mtu, found_.had_ipv6 ? ", without IPv6" : "");
        description.add.push_back(text.empty() ? concat("leave its representor ", quoted(name_), " as it is")
                                               : concat("set its representor ", quoted(name_), text));
    }

    void apply(const AddContext& context, Progress& /*progress*/) override {
        set_up_representor(found_, context.config, context.deadline);
    }

    /// For whoever connects it on the host.
    void conclude(const AddContext& /*context*/, const Progress& /*progress*/, Conclusion& end) const override {
        const Link& link = found_.link;
        end.on_host = cni::Interface{.name = link.name, .mac = link.hardware_address_text(), .mtu = link.mtu};
    }

private:
    base::BusAddress address_; // of the VF
    kernel::VfOf vf_;
    std::string name_; // when the record was written
    FoundRepresentor found_;
};

} // namespace

void find_representor(const PlanContext& context, Findings& found) {
    if (context.add == nullptr || !found.device || !found.device->vf) return;
    FoundDevice& device = *found.device;
    const kernel::VfOf& vf = device.vf->of;
    const Representors representors = kernel::representors_of(vf.pf);
    if (representors.empty()) return;
    auto link = find_link_of(representors, vf.number, context.host);
    if (!link) {
        context.log.warn(concat(
            device.vf->id, " has no representor in the host's namespace, and its PF is in switchdev mode: the "
                           "pod reaches nobody but by what another namespace does with it. `devlink port` names it"));
        return;
    }
    FoundRepresentor representor{.link = *std::move(link)};
    const auto mtu = mtu_for(device, context.config);
    if (mtu && representor.link.mtu < *mtu) representor.mtu = representor.link.mtu;
    representor.was_down = !representor.link.is_up();
    representor.had_ipv6 = representor.was_down && !representor.link.master_ifindex && has_ipv6(representor.link);
    device.representor = std::move(representor);
}

SetRepresentor SetRepresentor::parse(const json::Reader& reader) {
    return {.pf = reader.at("pf").string(),
            .number = static_cast<unsigned>(reader.at("vf").integer(0, UINT16_MAX)),
            .ifindex = state::parse_ifindex(reader.at("ifindex")),
            .name = reader.at("name").string(),
            .mtu = state::find_number<unsigned>(reader, "mtu"),
            .was_down = reader.at("wasDown").boolean(),
            .had_ipv6 = reader.at("hadIpv6").boolean(),
            .device = state::find_string(reader, "device").value_or("")};
}

void SetRepresentor::write(json::Writer& writer) const {
    writer.member("pf", pf)
        .member("vf", number)
        .member("ifindex", ifindex)
        .member("name", name)
        .member("wasDown", was_down)
        .member("hadIpv6", had_ipv6);
    state::write_if(writer, "mtu", mtu);
    if (!device.empty()) writer.member("device", device);
}

std::string SetRepresentor::describe() const {
    return concat("representor ", quoted(name), " of VF ", number, " of PF ", pf);
}

void SetRepresentor::revert(const RevertContext& context) const {
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, context.deadline);
    const auto link = find_link_of(*this, route);
    if (!link || link->ifindex != ifindex) return; // the PF has made another since, in its own state
    kernel::LinkChange change;
    if (mtu && *mtu != link->mtu) change.mtu = mtu;
    if (was_down && link->is_up()) change.state = kernel::AdminState::down;
    if (change.mtu || change.state) kernel::change_link(route, link->ifindex, change);
    if (had_ipv6 && !has_ipv6(*link)) switch_ipv6(*link, true);
}

std::unique_ptr<Step> make_representor(const AddContext& /*context*/, const Findings& found) {
    if (!found.device || !found.device->representor) return nullptr;
    return std::make_unique<Representor>(*found.device, *found.device->representor);
}

/// Its name, and a larger MTU, are its bridge's matter.
void check_representor(const CheckContext& context) {
    const state::AttachmentRecord& record = context.record;
    const auto& mtu = context.wanted.mtu;
    const auto step = find_step<SetRepresentor>(record);
    if (context.wanted.kind != "sriov" || !step) return;
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, context.deadline);
    const auto link = find_link_of(*step, route);
    if (!link) differs(concat("representor ", quoted(step->name), " of ", record.device(), " is gone from the host"));
    if (!link->is_up()) differs(concat("representor ", quoted(link->name), " of ", record.device(), " is down"));
    if (has_netdev(record) && mtu.value_or(0) > link->mtu)
        differs(concat("representor ", quoted(link->name), " of ", record.device(), " has MTU ", link->mtu,
                       ", expected at least ", *mtu));
}

} // namespace rdmanet::attach
