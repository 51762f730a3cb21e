#include "child_link.hpp"

#include "device_return.hpp"
#include "kinds.hpp"

#include "lookup/ipoib.hpp"
#include "lookup/parent.hpp"
#include "lookup/request.hpp"
#include "owners/liveness.hpp"
#include "owners/mac.hpp"
#include "owners/mark.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/hash.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/wait.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/state/topic.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

namespace rdmanet::attach {
namespace {

using base::quoted;
using kernel::Link;
using state::CreateLink;

/// Whether children of this kind must agree with the other children of their parent, as far as rdmanet sees them: a
/// parent in a pod has no other attachments' children.
bool must_agree_with_siblings(std::string_view kind, bool parent_in_pod) {
    return kind == "ipvlan" && !parent_in_pod;
}

/// Throws CniError if a living attachment has a child of our parent with another kind, mode or flag. In the kernel,
/// the last ipvlan child that is created sets mode and flag of all of them (ipvlan_link_new(),
/// drivers/net/ipvlan/ipvlan_main.c), so a pod of another network could silently lose its isolation. The parent's lock
/// keeps others from creating such a child until our record is written. Macvlan children each have a mode of their
/// own: for them nothing is checked.
void require_like_siblings(const state::Child& ours, const Call& call) {
    if (!must_agree_with_siblings(ours.kind, ours.parent_in_pod)) return;
    PodProbe pods(call.node);
    const std::vector<state::AttachmentRecord> different = call.records.list_about(
        state::parent_topic(ours.parent_ifindex), state::child_topic(ours.parent_ifindex, ours.kind, ours.mode));
    for (const state::AttachmentRecord& record : different) {
        const state::Child* theirs = record.child();
        if (theirs == nullptr || record.key == call.key) continue;
        if (pods.probe(pod_of(record)) == ipam::Liveness::dead) continue;
        throw cni::CniError(cni::ErrorCode::parent,
                            fmt::format("parent {} has a child that is {} ({}), but this network asks for {}: set {}, "
                                        "or use another parent (all "
                                        "its children must be macvlan, or all ipvlan with one mode and flag)",
                                        quoted(ours.parent), theirs->mode, record.key, ours.mode,
                                        theirs->kind == ours.kind
                                            ? "the same \"mode\" and \"flag\""
                                            : fmt::format("\"attach\": {}", quoted(theirs->kind))));
    }
}

/// A passthru macvlan is created with its parent's MAC; another MAC is set afterwards.
bool is_passthru(const config::Config& config) {
    const auto* macvlan = std::get_if<config::Macvlan>(&config.attach);
    return macvlan != nullptr && macvlan->mode == kernel::MacvlanMode::passthru;
}

/// The child's MAC. A MAC in the network's configuration was refused earlier for kinds that cannot have one. A pod's
/// request is only a warning: with the reference plugins such pods start.
std::optional<base::MacAddress> choose_mac(const cni::Request& request, const config::Config& config,
                                           const Call& call) {
    if (!config.is_macvlan()) {
        if (const auto requested = cni::requested_mac(request.conf, request.args))
            call.log.warn(
                config.is_ipoib()
                    ? fmt::format("{}: {} is not set, because an IPoIB child has its port's GUID: remove the request",
                                  requested->source, requested->mac)
                    : fmt::format(
                          "{}: {} is not set, because an ipvlan child has its parent's MAC address: use macvlan",
                          requested->source, requested->mac));
        return std::nullopt;
    }
    if (const auto mac = wanted_mac(request, config)) return mac;
    return is_passthru(config) ? std::nullopt : std::optional(derive_mac(call.node.boot_id, call.key));
}

/// The parent index that the kernel will report for the child. It puts a macvlan on a macvlan, or an ipvlan on an
/// ipvlan, on the lower device of the parent (macvlan_common_newlink(), ipvlan_link_new()).
unsigned index_of_lower(const kernel::Link& parent, const config::Config& config) {
    return parent.kind == config.kind() ? parent.parent_ifindex.value_or(parent.ifindex) : parent.ifindex;
}

std::variant<config::Macvlan, config::Ipvlan, config::Ipoib> kernel_kind(const config::Config& config,
                                                                         const kernel::Link& parent) {
    if (const auto* macvlan = std::get_if<config::Macvlan>(&config.attach)) return *macvlan;
    if (const auto* ipvlan = std::get_if<config::Ipvlan>(&config.attach)) return *ipvlan;
    return ipoib_child(config, parent);
}

kernel::ChildSpec child_spec(const Call& call, const FoundParent& found) {
    kernel::ChildSpec spec{.name = call.request->ifname(),
                           .parent_ifindex = found.parent.ifindex,
                           .parent_name = found.parent.name,
                           .netns = &call.pod->netns,
                           .kind = kernel_kind(*call.config, found.parent),
                           .mac = {},
                           .mtu = call.config->mtu};
    spec.up = false; // see bring_up()
    if (!is_passthru(*call.config)) spec.mac = found.mac;
    return spec;
}

/// Translates the kernel's error into a message with the fix.
[[noreturn]] void explain(const kernel::NetlinkError& error, const config::Config& config, const FoundParent& found) {
    const std::string parent = quoted(found.parent.name);
    if (error.errno_value() == EBUSY)
        throw cni::CniError(
            cni::ErrorCode::parent,
            fmt::format(
                "parent {} is busy: macvlan, ipvlan, bridge and bond exclude each other on one interface, and it "
                "already belongs to another of them; use that kind for this network too, or another parent "
                "(kernel: {})",
                parent, error.what()));
    if (error.errno_value() == EINVAL && config.is_macvlan())
        throw cni::CniError(
            cni::ErrorCode::parent,
            fmt::format("parent {} refuses another macvlan child, because a child in mode passthru must be "
                        "the only one: use another mode, or another parent (kernel: {})",
                        parent, error.what()));
    if (error.errno_value() == EOPNOTSUPP)
        throw cni::CniError(cni::ErrorCode::kernel_refused,
                            fmt::format("this kernel has no {0}: install the package with its modules, or load it with "
                                        "`modprobe {0}` (kernel: {1})",
                                        config.kind(), error.what()));
    throw error;
}

/// Settings that cannot be given when the child is created. The MAC of a passthru macvlan is also set on the parent,
/// which gets its own back when the child is removed (macvlan_port_destroy()). An IPoIB child is created with its
/// mode's MTU, whatever is requested (ipoib_ndo_init(), and ipoib_set_mode() after it).
kernel::LinkChange late_change(const kernel::Link& link, const config::Config& config, const FoundParent& found) {
    kernel::LinkChange change;
    if (is_passthru(config) && found.mac && link.mac() != found.mac) change.mac = found.mac;
    if (config.mtu && link.mtu != config.mtu) change.mtu = config.mtu;
    return change;
}

/// An index far above those that kernels count up to, and a different one for each attachment.
unsigned choose_ifindex(const state::AttachmentKey& key) {
    constexpr unsigned kFirst = 1U << 24U;
    return kFirst + static_cast<unsigned>(base::hash64(key.file_name()) % kFirst);
}

/// plan() has seen that the name is free in the pod. If the host has an interface of that name, the kernel answers
/// EEXIST, too, unless the request has an index. Creating the child from inside the pod does not help before Linux
/// 6.15 (rtnl_newlink_create(), net/core/rtnetlink.c).
void add_child(kernel::ChildSpec spec, const Call& call) {
    if (call.config->link_in_container) return kernel::add_link(call.pod->route, spec);
    try {
        kernel::add_link(*call.host, spec);
    } catch (const kernel::NetlinkError& error) {
        if (error.errno_value() != EEXIST || !kernel::find_link(*call.host, spec.name)) throw;
        spec.ifindex = choose_ifindex(call.key);
        kernel::add_link(*call.host, spec);
    }
}

/// Finds the child by its index if ADD knew it, because the pod may have renamed the child. Otherwise by its name.
std::optional<Link> find_child(kernel::Socket& inside, const CreateLink& step) {
    if (step.ifindex != 0) return kernel::find_link(inside, step.ifindex);
    const auto name = base::InterfaceName::parse(step.ifname);
    return name ? kernel::find_link(inside, *name) : std::nullopt;
}

/// Whether the link is the child of this step. Names and indexes are used again. Kind, MAC and parent together are
/// not, within one namespace.
bool is_ours(const Link& link, const CreateLink& step) {
    const state::Child& child = step.child;
    if (link.kind != child.kind) return false;
    const bool mac_tells = !child.mac.empty() && step.ifindex == 0;
    if (mac_tells && link.hardware_address_text() != child.mac) return false;
    return child.parent_ifindex == 0 || link.is_child_of(child.parent_ifindex);
}

constexpr const char* kIpoib = "ipoib";

/// Finds an IPoIB child that the kernel returned to the host when its namespace ended (default_device_exit_net(),
/// net/core/dev.c). It is found by its hardware address or, if ADD did not yet know that, by its name.
std::optional<Link> find_returned(kernel::Socket& outside, const CreateLink& step) {
    for (const Link& link : kernel::list_links(outside)) {
        if (link.kind != kIpoib || link.parent_ifindex != step.child.parent_ifindex) continue;
        const bool may_be_ours = link.name == step.ifname && !link.is_up(); // the kernel takes down what it moves
        const std::string& mac = step.child.mac;
        if (mac.empty() ? may_be_ours : link.hardware_address_text() == mac) return link;
    }
    return std::nullopt;
}

/// Waits for the child, which returns some time after the namespace's last user has gone, and removes it. The pod may
/// have removed it already.
void remove_returned(const CreateLink& step, const Undo& undo) {
    constexpr std::chrono::seconds kTimeout{3};
    kernel::Socket outside = kernel::Socket::open(kernel::Protocol::route, undo.call.deadline);
    const auto link =
        base::wait_for(undo.call.deadline.at_most(kTimeout), [&] { return find_returned(outside, step); });
    if (link) kernel::remove_link(outside, link->ifindex);
}

/// Takes an IPoIB interface down before it is removed. In connected mode, a worker ends its connections some time
/// after it went down (ipoib_cm_destroy_tx(), drivers/infiniband/ulp/ipoib/ipoib_cm.c). A removal does not wait for
/// the worker: without this, the kernel would destroy the completion queue of open connections, and warn.
void take_down(kernel::Socket& inside, const Link& link) {
    if (link.is_up()) kernel::change_link(inside, link.ifindex, {.state = kernel::AdminState::down});
}

state::Child child_of(const config::Config& config, const FoundParent& found) {
    const bool kernel_takes_mac = found.mac && !is_passthru(config);
    return {.kind = std::string(config.kind()),
            .mode =
                std::visit([](const auto& kind) { return kernel::to_string(kind); }, kernel_kind(config, found.parent)),
            .parent = found.parent.name,
            .parent_ifindex = index_of_lower(found.parent, config),
            .parent_in_pod = config.link_in_container,
            .mac = kernel_takes_mac ? found.mac->to_string() : std::string()};
}

Link create_child(const Call& call, const FoundParent& found) {
    try {
        add_child(child_spec(call, found), call);
    } catch (const kernel::NetlinkError& error) {
        explain(error, *call.config, found);
    }
    const auto link = kernel::find_link(call.pod->route, call.request->ifname());
    if (!link)
        throw base::Error(
            fmt::format("interface {} disappeared while ADD set it up", quoted(call.request->ifname().to_string())));
    const kernel::LinkChange change = late_change(*link, *call.config, found);
    if (!change.mac && !change.mtu) return *link;
    kernel::change_link(call.pod->route, link->ifindex, change);
    return kernel::find_link(call.pod->route, link->ifindex).value_or(*link);
}

std::string mac_text(const Call& call) {
    if (!call.config->is_macvlan()) return {};
    if (const auto mac = wanted_mac(*call.request, *call.config)) return fmt::format(", MAC {}", *mac);
    return is_passthru(*call.config) ? ", MAC of its parent" : ", a MAC of its own";
}

class ChildLink final : public RecordedStep<CreateLink> {
public:
    ChildLink(const FoundParent& found, CreateLink step)
        : RecordedStep(std::move(step)), parent_(found.parent), mac_(found.mac) {}

    void describe(const Call& call, Description& description) const override {
        const config::Config& config = *call.config;
        const std::string mtu = config.mtu          ? fmt::format(", MTU {}", *config.mtu)
                                : config.is_ipoib() ? std::string()
                                                    : fmt::format(", MTU {}", parent_.mtu);
        description.add.push_back(fmt::format("make interface {} in the pod: {} on parent {}{}{}{}",
                                              quoted(step_.ifname), step_.child.mode, quoted(step_.child.parent),
                                              step_.child.parent_in_pod ? " in the pod" : "", mtu, mac_text(call)));
    }

    void apply(const Call& call, Progress& progress) override {
        const Link child = create_child(call, {.parent = parent_, .mac = mac_});
        step_.ifindex = child.ifindex;
        if (call.config->is_ipoib()) {
            step_.child.mac = child.hardware_address_text();
            if (auto mark = mark_of(progress.record))
                kernel::change_link(call.pod->route, child.ifindex, {.alias = std::move(mark), .netns = nullptr});
        }
        progress.link = child;
        progress.has_learned = true;
    }

    void conclude(const Call& /*call*/, const Progress& progress, Conclusion& end) const override {
        end.interface.mac = end.record.wanted->mac = progress.link->hardware_address_text();
        end.interface.mtu = progress.link->kind == kIpoib ? mtu_when_joined(*progress.link, &parent_)
                                                          : std::optional(progress.link->mtu);
    }

private:
    Link parent_;
    std::optional<base::MacAddress> mac_;
};

void check_mode_by_configuration(const Link& link, const config::Config& config) {
    const std::string name = quoted(link.name);
    if (const auto* wanted = std::get_if<config::Macvlan>(&config.attach)) {
        if (!link.macvlan || link.macvlan->mode != wanted->mode)
            differs(fmt::format("interface {} is {}, expected {}", name,
                                link.macvlan ? kernel::to_string(*link.macvlan) : "no macvlan", *wanted),
                    kDeletePod);
    } else if (const auto* ipoib = std::get_if<config::Ipoib>(&config.attach)) {
        const config::Ipoib present = link.ipoib.value_or(config::Ipoib{});
        const bool other_pkey = ipoib->pkey && (present.pkey.value_or(0) | 0x8000U) != (*ipoib->pkey | 0x8000U);
        if (other_pkey || (ipoib->mode && present.mode != ipoib->mode))
            differs(fmt::format("interface {} is {}, expected {}", name, present, *ipoib), kDeletePod);
    } else if (const auto* ipvlan = std::get_if<config::Ipvlan>(&config.attach);
               ipvlan != nullptr && link.ipvlan != *ipvlan) {
        differs(fmt::format("interface {} is {}, expected {}", name,
                            link.ipvlan ? kernel::to_string(*link.ipvlan) : "no ipvlan", *ipvlan),
                kDeletePod);
    }
}

/// The link's mode in the words of the record.
std::string mode_text(const Link& link) {
    if (link.macvlan) return kernel::to_string(*link.macvlan);
    if (link.ipvlan) return kernel::to_string(*link.ipvlan);
    if (link.ipoib) return kernel::to_string(*link.ipoib);
    return fmt::format("of kind {}", quoted(link.kind));
}

void check_mode(const Link& link, const Intended& wanted, const state::Child& made) {
    if (wanted.config != nullptr) return check_mode_by_configuration(link, *wanted.config);
    const std::string present = mode_text(link);
    if (present != made.mode)
        differs(fmt::format("interface {} is {}, expected {}", quoted(link.name), present, made.mode), kDeletePod);
}

/// Whether the parent is in the pod. `recorded` is used for kinds that do not name the other namespace: IPoIB, and
/// ipvlan on older kernels without ipvlan_get_link_net().
bool has_parent_in_pod(const Link& link, bool recorded) {
    if (link.parent_netnsid) return false;
    return link.macvlan || recorded;
}

/// The parent that the link has instead of the recorded one. Interfaces are compared by index, because a name may
/// belong to another interface by now.
std::string describe_parent(const Link& link, const state::Child& made, const Comparison& compared) {
    if (!link.parent_ifindex) return "no parent";
    if (has_parent_in_pod(link, made.parent_in_pod) != made.parent_in_pod)
        return made.parent_in_pod ? "a parent outside of the pod" : "a parent in the pod";
    kernel::Socket outside = kernel::Socket::open(kernel::Protocol::route, compared.call.deadline);
    const auto present = kernel::find_link(made.parent_in_pod ? compared.inside : outside, *link.parent_ifindex);
    if (!present) return fmt::format("an interface that is not {}", made.parent_in_pod ? "in the pod" : "on the host");
    if (present->name == made.parent) return fmt::format("a new interface {}", quoted(present->name));
    return fmt::format("parent {}", quoted(present->name));
}

} // namespace

void ChildLinkKind::find(const Call& call, Findings& found) {
    if (found.moving) return;
    const config::Config& config = *call.config;
    const bool is_in_pod = config.link_in_container && call.pod != nullptr;
    found.parent =
        FoundParent{.parent = found.locked_parent != nullptr
                                  ? *found.locked_parent
                                  : find_parent(*call.request, config, is_in_pod ? call.pod->route : *call.host)};
    require_usable(found.parent->parent, config);
    if (call.pod == nullptr) return;
    found.parent->mac = choose_mac(*call.request, *call.config, call);
    require_like_siblings(child_of(*call.config, *found.parent), call);
}

std::unique_ptr<Step> ChildLinkKind::make(const Call& call, const Findings& found) {
    if (!found.parent) return nullptr;
    return std::make_unique<ChildLink>(*found.parent, CreateLink{.child = child_of(*call.config, *found.parent),
                                                                 .ifname = call.request->ifname().to_string()});
}

/// A child is identified by its kind and parent.
void ChildLinkKind::check(const Comparison& compared) {
    if (compared.wanted.is_device()) return;
    const Link& link = require_link(compared);
    const std::string name = quoted(link.name);
    if (link.kind != compared.wanted.kind)
        differs(fmt::format("interface {} is of kind {}, expected {}", name, quoted(link.kind), compared.wanted.kind),
                kDeletePod);
    const state::Child* const made = compared.record.child();
    if (made == nullptr) return;
    if (!link.is_child_of(made->parent_ifindex))
        differs(fmt::format("interface {} is on {}, expected parent {}", name, describe_parent(link, *made, compared),
                            quoted(made->parent)),
                kDeletePod);
    check_mode(link, compared.wanted, *made);
}

std::optional<LockedParent> lock_parent(const Call& call) {
    const config::Config& config = *call.config;
    if (!must_agree_with_siblings(config.kind(), config.link_in_container)) return std::nullopt;
    Link parent = find_parent(*call.request, config, *call.host);
    for (;;) {
        const unsigned lower = index_of_lower(parent, config);
        base::FileLock lock = call.records.lock_parent(lower, parent.name, call.deadline);
        parent = find_parent(*call.request, config, *call.host);
        if (index_of_lower(parent, config) == lower)
            return LockedParent{.link = std::move(parent), .lock = std::move(lock)};
    }
}

std::string ChildLinkKind::describe(const Recorded& step) {
    return fmt::format("interface {}", quoted(step.ifname));
}

ByHand ChildLinkKind::by_hand(const Recorded& step, const base::Deadline& /*deadline*/) {
    return {.text =
                step.child.kind == kIpoib ? "`rdmanet gc` removes it when the pod is gone" : "it ends with the pod"};
}

void ChildLinkKind::revert(const Recorded& step, const Undo& undo) {
    const auto netns = find_recorded_netns(undo.record, undo.call.netns_path());
    if (!netns && step.child.kind == kIpoib) remove_returned(step, undo);
    if (!netns) return; // the kernel destroys macvlan and ipvlan children with their namespace
    kernel::Socket inside = kernel::Socket::open_in(*netns, kernel::Protocol::route, undo.call.deadline);
    const auto link = find_child(inside, step);
    if (!link || !is_ours(*link, step)) return;
    if (link->kind == kIpoib) take_down(inside, *link);
    kernel::remove_link(inside, link->ifindex);
}

} // namespace rdmanet::attach
