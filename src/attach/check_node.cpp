#include "compare.hpp"
#include "detach.hpp"

#include "lookup/call.hpp"
#include "lookup/vf.hpp"
#include "owners/liveness.hpp"

#include <rdmanet/attach/check_node.hpp>
#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/cached_result.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/vf.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::quoted;
using ipam::Liveness;
using kernel::Link;
using kernel::Socket;
using state::AttachmentRecord;

constexpr std::string_view kAttachIpam = "ipam"; // only leases: another plugin made the interface

std::string describe_missing_netns(const AttachmentRecord& record, const ipam::Verdict& pod) {
    if (!pod.held_by.empty())
        return fmt::format("its network namespace is no longer at {}, and is {}", record.netns.path, pod.held_by);
    if (!pod.reason.empty())
        return fmt::format("its network namespace is not at {}, and it is unknown whether its pod lives: {}",
                           record.netns.path, pod.reason);
    return fmt::format("its network namespace is not at {}", record.netns.path);
}

struct Finding {
    Agreement agreement = Agreement::same;
    std::string reason;
};

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

bool is_disabled_on_purpose(const AttachmentRecord& record) {
    return record.wanted && record.wanted->vf.link_state == base::VfLinkState::disable;
}

/// A VF may have a carrier while its PF is down, because some drivers keep the port up for the VFs. With link state
/// "enable", it may also have one while the port has none: then its frames do not leave the node.
std::string trouble_of_device(const AttachmentRecord& record, const std::optional<Link>& in_pod, Socket& host) {
    const auto device = base::BusAddress::parse(record.device());
    const auto pf = device ? find_pf_link(*device, host) : std::nullopt;
    const bool has_link = in_pod && in_pod->can_send();
    if (pf && (pf->is_up() || !has_link))
        if (std::string trouble = trouble_of("PF", *pf); !trouble.empty()) return trouble;
    if (!in_pod || !in_pod->is_up() || has_link) return {}; // an interface that is down is a difference
    return no_carrier_text(fmt::format("device {}", record.device()), *in_pod);
}

/// Finds out why pods have no traffic, although their attachments are as ADD left them.
class PortTrouble {
public:
    /// Says that the parent, the PF or the device is down or has no carrier, with the fix. Empty if traffic can flow.
    /// The text is the same for all attachments that share a port. The kernel is asked once about each parent on the
    /// host. Throws base::Error if it cannot be asked.
    [[nodiscard]] std::string find(const AttachmentRecord& record, const base::Deadline& deadline);

private:
    std::string find_of_parent(const AttachmentRecord& record, const state::Child& child,
                               const base::Deadline& deadline);

    std::map<unsigned, std::string> of_parents_; // by index on the host
};

std::string PortTrouble::find_of_parent(const AttachmentRecord& record, const state::Child& child,
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

std::string PortTrouble::find(const AttachmentRecord& record, const base::Deadline& deadline) {
    if (const state::Child* const child = record.child()) return find_of_parent(record, *child, deadline);
    const auto name = base::InterfaceName::parse(record.key.ifname);
    if (!name || record.device().empty() || is_disabled_on_purpose(record)) return {};
    const auto pod = find_netns_again(record.netns.path, record.netns);
    if (!pod) return {};
    Socket host = Socket::open(kernel::Protocol::route, deadline);
    Socket inside = Socket::open_in(*pod, kernel::Protocol::route, deadline);
    return trouble_of_device(record, kernel::find_link(inside, *name), host);
}

class NodeChecker {
public:
    explicit NodeChecker(const Node& node)
        : call_(node, base::Deadline::in(kCheckTimeout), state::Access::undo), pods_(node) {}

    std::vector<CheckedAttachment> run() {
        std::vector<CheckedAttachment> checked;
        const auto listing = call_.records.list();
        for (const AttachmentRecord& record : listing.records) {
            bool is_attached = false;
            Finding finding = check(record, is_attached);
            checked.push_back({.name = state::describe(record),
                               .agreement = finding.agreement,
                               .reason = std::move(finding.reason),
                               .warning = is_attached ? warning_of(record) : std::string()});
        }
        for (const state::Unreadable& file : listing.unreadable)
            checked.push_back({.name = file.path,
                               .agreement = Agreement::differs,
                               .reason = fmt::format("{}: `rdmanet gc` says what to do", file.reason)});
        return checked;
    }

private:
    /// Sets `is_attached` if ADD has finished and the pod is not known to be dead, whatever the comparison finds.
    Finding check(const AttachmentRecord& seen, bool& is_attached) try {
        const auto lock = try_to_lock(seen.key);
        if (!lock) return {Agreement::not_checked, "its ADD or DEL is running"};
        const auto outcome = call_.records.load(seen.key);
        const auto* record = std::get_if<AttachmentRecord>(&outcome);
        if (record == nullptr) return {Agreement::not_checked, "its DEL has just removed it"};
        return compare(*record, is_attached);
    } catch (const cni::CniError& error) {
        return {Agreement::differs, error.what()};
    } catch (const base::Error& error) {
        return {Agreement::not_checked, error.what()};
    }

    /// A warning if the port is down. CHECK does not report that, because the attachment is as ADD left it.
    std::string warning_of(const AttachmentRecord& record) try {
        return ports_.find(record, base::Deadline::in(kCheckTimeout));
    } catch (const base::Error&) { // the comparison reports it
        return {};
    }

    std::string why_unpayable(const AttachmentRecord& record) {
        const std::string obstacle = call_.leases.find_obstacle(*record.lease_store);
        if (obstacle.empty()) return {};
        return fmt::format(". It fails as long as {}; name another kubeconfig of the same cluster in {}", obstacle,
                           ipam::kNodeFile);
    }

    std::optional<base::FileLock> try_to_lock(const state::AttachmentKey& key) try {
        return call_.records.lock(key, base::Deadline::in(std::chrono::milliseconds{0}));
    } catch (const base::TimeoutError&) {
        return std::nullopt;
    }

    Finding compare(const AttachmentRecord& record, bool& is_attached) {
        call_.deadline = base::Deadline::in(kCheckTimeout);
        const ipam::Verdict pod = pods_.probe(pod_of(record));
        if (pod == Liveness::dead)
            return {Agreement::not_checked, "its pod is dead: run `rdmanet gc` to reclaim what it has"};
        if (is_only_owing(record))
            return {Agreement::not_checked, "its DEL is done, but its addresses are not yet given back to the cluster: "
                                            "run `rdmanet gc`" +
                                                why_unpayable(record)};
        if (record.removal_unfinished)
            return {Agreement::differs,
                    pod.held_by.empty()
                        ? std::string("its DEL is unfinished: delete the pod; if it is gone, run `rdmanet gc`")
                        : fmt::format("its DEL is unfinished, because its network namespace is {}", pod.held_by)};
        if (record.phase == state::Phase::prepared)
            return {Agreement::differs,
                    "its ADD or DEL failed or was killed: delete the pod; if it is gone, run `rdmanet gc`"};
        is_attached = true;
        if (!record.leases.empty()) compare_leases(call_, record);
        if (record.attach == kAttachIpam) return {};
        const auto netns = find_netns_again(record.netns.path, record.netns);
        if (!netns) return {Agreement::not_checked, describe_missing_netns(record, pod)};
        Intended wanted = wanted_by(record);
        if (auto result = cni::find_cached_result(record.key.network, record.key.container_id, record.key.ifname))
            wanted.result = *std::move(result);
        compare_with_kernel(call_, wanted, record, *netns, record.netns.path);
        return {};
    }

    Call call_;
    PodProbe pods_;
    PortTrouble ports_;
};

} // namespace

std::string_view to_string(Agreement agreement) {
    switch (agreement) {
    case Agreement::same: return "same";
    case Agreement::differs: return "differs";
    case Agreement::not_checked: break;
    }
    return "not checked";
}

std::vector<CheckedAttachment> check_node(const Node& node) {
    return NodeChecker(node).run();
}

} // namespace rdmanet::attach
