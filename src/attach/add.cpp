// ADD: everything is looked at before anything is changed, the lease comes before the journal's record, the record
// before the kernel. From the lease on, leaving without commit() undoes all of it.
#include "detach.hpp"
#include "liveness.hpp"
#include "plan.hpp"
#include "rdma.hpp"
#include "siblings.hpp"
#include "steps.hpp"

#include <rdmanet/attach/operations.hpp>
#include <rdmanet/base/rollback.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/delegate.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/ipam/allocator.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;
using state::AttachmentRecord;

/// The attachment was made by an ADD that succeeded, in this namespace, and its interface is there.
bool lives(const AttachmentRecord& record, const cni::Request& request, Plan& plan) {
    if (record.phase != state::Phase::attached || !kernel::find_link(plan.pod.route, request.ifname())) return false;
    const auto netns = find_recorded_netns(record, request.netns_path);
    return netns && *netns == plan.pod.netns;
}

[[noreturn]] void refuse_taken_name(const cni::Request& request, std::string_view cure) {
    throw cni::CniError(cni::ErrorCode::name_taken, concat("interface ", quoted(request.ifname().to_string()),
                                                           " exists already in ", request.netns_path, cure));
}

/// A record that is already there is a crashed ADD, or an attachment whose namespace went without a DEL: undone first.
/// If the attachment lives, repeating ADD is an error (CNI specification, section 2, ADD) and it stays as it is.
void clear_the_way(const cni::Request& request, Plan& plan, Session& session, const base::Deadline& deadline) {
    const auto outcome = session.records.load(session.key);
    if (const auto* unreadable = std::get_if<state::Unreadable>(&outcome))
        session.node.log.error(concat("ignoring ", unreadable->path, ": ", unreadable->reason));
    if (const auto* record = std::get_if<AttachmentRecord>(&outcome)) {
        if (lives(*record, request, plan))
            refuse_taken_name(request, ", made by an earlier ADD of this attachment: DEL comes before another ADD");
        const StillHeld held =
            detach(*record, request.netns_path, session.node, session.records, session.leases, deadline);
        if (!held.empty())
            throw cni::CniError(cni::ErrorCode::state,
                                concat("an earlier ADD of this attachment left what can't be undone: ", held.front()));
    }
    if (kernel::find_link(plan.pod.route, request.ifname()))
        refuse_taken_name(request, ": remove it, or choose another interface name");
}

state::DelegateIpam delegate_step(const cni::Request& request, const DelegatedIpam& ipam) {
    return {.plugin = ipam.plugin, .config = request.stdin_text, .args = request.args_text, .path = request.path_text};
}

/// What the kernel's refusal means here, in words that lead to the cure.
[[noreturn]] void explain(const kernel::NetlinkError& error, const Config& config, const Plan& plan) {
    const std::string parent = quoted(plan.parent.name);
    if (error.errno_value() == EBUSY)
        throw cni::CniError(
            cni::ErrorCode::parent,
            concat("parent ", parent, " is busy: macvlan, ipvlan, bridge and bond exclude each other on one ",
                   "interface, and it already belongs to another of them; use that kind for this network too, ",
                   "or another parent (kernel: ", error.what(), ')'));
    if (error.errno_value() == EINVAL && config.is_macvlan())
        throw cni::CniError(cni::ErrorCode::parent,
                            concat("parent ", parent,
                                   " refuses another macvlan child: a child in mode passthru must be the ",
                                   "parent's only one (kernel: ", error.what(), ')'));
    if (error.errno_value() == EOPNOTSUPP)
        throw cni::CniError(cni::ErrorCode::kernel_refused,
                            concat("this kernel has no ", config.kind(),
                                   ": install the package with its modules, or load ", "it with `modprobe ",
                                   config.kind(), "` (kernel: ", error.what(), ')'));
    throw error;
}

kernel::Link create_link(const cni::Request& request, const Config& config, Plan& plan,
                         const base::Deadline& deadline) {
    kernel::Socket& inside = plan.pod.route;
    const auto spec = child_spec(request, config, plan);
    try {
        if (config.link_in_container) {
            kernel::add_link(inside, spec);
        } else {
            kernel::Socket outside = kernel::Socket::open(kernel::Protocol::route, deadline);
            kernel::add_link(outside, spec);
        }
    } catch (const kernel::NetlinkError& error) {
        explain(error, config, plan);
    }
    const auto link = kernel::find_link(inside, request.ifname());
    if (!link)
        throw base::Error(concat("interface ", quoted(request.ifname().to_string()), " vanished while it was set up"));
    if (!is_passthru(config) || !plan.mac || link->mac() == plan.mac) return *link;
    // Reaches the parent, which gets its own address back when the child goes (macvlan_port_destroy()).
    kernel::change_link(inside, link->ifindex, {.name = {}, .mac = plan.mac, .mtu = {}, .state = {}});
    return kernel::find_link(inside, link->ifindex).value_or(*link);
}

cni::Result ask_delegate(const cni::Request& request, const state::DelegateIpam& step, const base::Deadline& deadline) {
    cni::Result result = cni::delegate_add(cni::delegate_call(request, step.plugin), deadline);
    if (result.ips.empty())
        throw cni::CniError(cni::ErrorCode::delegate,
                            concat("IPAM plugin ", quoted(step.plugin), " returned no address"));
    return result;
}

/// prevResult's content with our interface and its addresses behind.
cni::Result complete(const cni::Request& request, const kernel::Link& link, const cni::Result& own) {
    cni::Result result = request.conf.prev_result.value_or(cni::Result{});
    const auto index = static_cast<unsigned>(result.interfaces.size());
    result.interfaces.push_back({.name = link.name,
                                 .mac = link.mac() ? link.mac()->to_string() : std::string(),
                                 .mtu = link.mtu,
                                 .sandbox = request.netns_path});
    for (cni::IpConfig ip : own.ips) {
        ip.interface = index;
        result.ips.push_back(ip);
    }
    result.routes.insert(result.routes.end(), own.routes.begin(), own.routes.end());
    const cni::Dns ours = chosen_dns(request.conf.dns, own.dns);
    if (!ours.empty()) result.dns = ours;
    return result;
}

std::vector<base::IpAddress> addresses_of(const cni::Result& result) {
    std::vector<base::IpAddress> addresses;
    for (const cni::IpConfig& ip : result.ips) addresses.push_back(ip.address.address());
    return addresses;
}

/// The changes themselves, each preceded by what undoes it. Fills in the record as it learns.
class Attaching {
public:
    Attaching(const cni::Request& request, const Config& config, Session& session, Plan& plan,
              const base::Deadline& deadline)
        : request_(request), config_(config), session_(session), plan_(plan), deadline_(deadline),
          record_(begin_record(request, session.node, plan.pod.netns)) {
        record_.attach = config.kind();
        if (plan.rdma) record_.rdma_device = concat(plan.rdma->device, '/', plan.rdma->port);
        record_.steps.emplace_back(link_step(request.ifname().to_string(), config, plan));
        if (const auto* delegated = std::get_if<DelegatedIpam>(&config.ipam))
            record_.steps.emplace_back(delegate_step(request, *delegated));
    }

    [[nodiscard]] const AttachmentRecord& record() const { return record_; }
    [[nodiscard]] const std::vector<ipam::OwnerKey>& dispossessed() const { return dispossessed_; }

    cni::Result run() {
        auto siblings = agree_with_siblings(config_, plan_, session_, deadline_);
        cni::Result own = lease();
        session_.records.save(record_);
        siblings.reset();
        const kernel::Link link = create_link(request_, config_, plan_, deadline_);
        std::get<state::CreateLink>(record_.steps.front()).ifindex = link.ifindex;
        if (record_.steps.size() > 1)
            own = ask_delegate(request_, std::get<state::DelegateIpam>(record_.steps.back()), deadline_);
        configure(link, own);
        record_.phase = state::Phase::attached;
        session_.records.save(record_);
        return complete(request_, link, own);
    }

private:
    cni::Result lease() {
        const auto* own = std::get_if<ipam::Config>(&config_.ipam);
        if (own == nullptr) return {};
        Undertaker undertaker(session_.node);
        ipam::Allocator allocator(session_.leases, undertaker);
        const ipam::Allocation allocation =
            allocator.allocate(*own, owner_of(record_), requested_addresses(request_), deadline_);
        for (const std::string& warning : allocation.warnings) session_.node.log.warn(warning);
        record_.leases = to_recorded(allocation.leases);
        dispossessed_ = allocation.dispossessed;
        return to_result(allocation);
    }

    void configure(const kernel::Link& link, cni::Result& own) {
        bring_up(plan_.pod, link, request_.ifname(), own.ips, deadline_, session_.node.log);
        own.routes = add_routes(plan_.pod, link, own, config_.default_route, session_.node.log);
        if (plan_.rdma) wait_for_gids(config_.rdma, *plan_.rdma, link.name, addresses_of(own), session_.node.log);
        for (const cni::IpConfig& ip : own.ips) record_.ips.push_back(ip.address.to_string());
        for (const cni::Route& route : own.routes) record_.routes.push_back(route.dst.to_string());
    }

    const cni::Request& request_;
    const Config& config_;
    Session& session_;
    Plan& plan_;
    const base::Deadline& deadline_;
    AttachmentRecord record_;
    std::vector<ipam::OwnerKey> dispossessed_;
};

} // namespace

cni::Result add(const cni::Request& request, const Config& config, const Node& node) {
    const auto deadline = base::Deadline::in(kAddTimeout);
    Session session(request, node);
    Plan plan = make_plan(request, config, session, deadline);
    std::optional<base::FileLock> lock = session.records.lock(session.key, deadline);
    clear_the_way(request, plan, session, deadline);

    Attaching attaching(request, config, session, plan, deadline);
    base::Rollback rollback([&](const std::string& what, const char* why) { node.log.error(concat(what, ": ", why)); });
    rollback.on_failure("undo the failed ADD", [&] {
        const StillHeld held = detach(attaching.record(), request.netns_path, node, session.records, session.leases,
                                      base::Deadline::in(kUndoTimeout));
        for (const std::string& what : held) node.log.error(concat("still held after a failed ADD: ", what));
    });
    cni::Result result = attaching.run();
    rollback.commit();
    lock.reset();
    detach_dispossessed(attaching.dispossessed(), node, session.records, session.leases);
    return result;
}

} // namespace rdmanet::attach
