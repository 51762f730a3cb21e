#include "port_trouble.hpp"

#include "lookup/vf.hpp"
#include "owners/liveness.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/vf.hpp>

#include <optional>

namespace rdmanet::attach {
namespace {

using base::quoted;
using kernel::Link;
using kernel::Socket;

std::string down_text(std::string_view what, const Link& link) {
    return fmt::format("{} {} is down, so its pods have no traffic: run `ip link set {} up`", what, quoted(link.name),
                       link.name);
}

std::string no_carrier_text(const std::string& what, const Link& link) {
    return fmt::format("{} has no carrier, so its pods have no traffic: check its link (cable, switch port{})", what,
                       link.is_infiniband() ? ", subnet manager" : "");
}

std::string trouble_of(std::string_view what, const Link& link) {
    if (!link.is_up()) return down_text(what, link);
    return link.can_send() ? std::string() : no_carrier_text(fmt::format("{} {}", what, quoted(link.name)), link);
}

std::optional<Link> find_pf_link(const base::BusAddress& device, Socket& host) {
    const auto pci = device.pci();
    const auto of = pci ? kernel::find_pf_of(*pci) : std::nullopt;
    const auto id = of ? find_vf_id(*of, host) : std::nullopt;
    return id ? kernel::find_link(host, id->pf_ifindex) : std::nullopt;
}

bool is_disabled_on_purpose(const state::AttachmentRecord& record) {
    return record.wanted && record.wanted->vf.link_state == base::VfLinkState::disable;
}

/// A VF may have a carrier while its PF is down, because some drivers keep the port up for the VFs. With link state
/// "enable", it may also have one while the port has none: then its frames do not leave the node.
std::string trouble_of_device(const state::AttachmentRecord& record, const std::optional<Link>& in_pod, Socket& host) {
    const auto device = base::BusAddress::parse(record.device());
    const auto pf = device ? find_pf_link(*device, host) : std::nullopt;
    const bool has_link = in_pod && in_pod->can_send();
    if (pf && (pf->is_up() || !has_link))
        if (std::string trouble = trouble_of("PF", *pf); !trouble.empty()) return trouble;
    if (!in_pod || !in_pod->is_up() || has_link) return {}; // an interface that is down is a difference
    return no_carrier_text(fmt::format("device {}", record.device()), *in_pod);
}

} // namespace

std::string PortTrouble::find_of_parent(const state::AttachmentRecord& record, const state::Child& child,
                                        const base::Deadline& deadline) {
    const auto trouble_at = [&](Socket route) {
        const auto parent = kernel::find_link(route, child.parent_ifindex);
        return parent ? trouble_of("parent", *parent) : std::string();
    };
    if (child.parent_in_pod) {
        const auto pod = find_netns_again(record.netns.path, record.netns);
        return pod ? trouble_at(Socket::open_in(*pod, kernel::Protocol::route, deadline)) : std::string();
    }
    const auto known = of_parents_.find(child.parent_ifindex);
    if (known != of_parents_.end()) return known->second;
    return of_parents_[child.parent_ifindex] = trouble_at(Socket::open(kernel::Protocol::route, deadline));
}

std::string PortTrouble::find(const state::AttachmentRecord& record, const base::Deadline& deadline) {
    if (const state::Child* const child = record.child()) return find_of_parent(record, *child, deadline);
    const auto name = base::InterfaceName::parse(record.key.ifname);
    if (!name || record.device().empty() || is_disabled_on_purpose(record)) return {};
    const auto pod = find_netns_again(record.netns.path, record.netns);
    if (!pod) return {};
    Socket host = Socket::open(kernel::Protocol::route, deadline);
    Socket inside = Socket::open_in(*pod, kernel::Protocol::route, deadline);
    return trouble_of_device(record, kernel::find_link(inside, *name), host);
}

} // namespace rdmanet::attach
