#include "liveness.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/process.hpp>
#include <rdmanet/base/text.hpp>

#include <utility>

namespace rdmanet::attach {
namespace {

ipam::Verdict unknown(std::string reason) {
    return {.liveness = ipam::Liveness::unknown, .reason = std::move(reason)};
}

/// What holds a namespace that no longer has its recorded path, with the fix. Empty if the node's first process
/// still sees that path: then only the caller does not see it.
std::string describe_holder(const std::string& found_by, const state::NetnsIdentity& netns) {
    const kernel::NetnsHolder holder = kernel::parse_holder(found_by);
    const std::string process = base::describe_process(holder.pid);
    if (holder.mount_point.empty()) return fmt::format("held by {}: end it, then run `rdmanet gc`", process);
    if (holder.pid == 1 && holder.mount_point == netns.path) return {};
    return fmt::format("held by a mount at {}, as {} sees it: unmount it, then run `rdmanet gc`", holder.mount_point,
                       process);
}

} // namespace

std::optional<kernel::Netns> find_netns_again(const std::string& path, const state::NetnsIdentity& recorded) {
    if (path.empty()) return std::nullopt;
    try {
        auto netns = kernel::find_netns(path);
        if (!netns || netns->id().inode != recorded.inode) return std::nullopt;
        const std::uint64_t cookie = recorded.cookie == 0 ? 0 : kernel::netns_cookie(*netns);
        return cookie == recorded.cookie ? std::move(netns) : std::nullopt;
    } catch (const kernel::NotANetnsError&) {
        return std::nullopt; // an unmounted namespace leaves an empty file behind
    }
}

std::optional<kernel::Netns> find_recorded_netns(const state::AttachmentRecord& record, const std::string& netns_path) {
    if (auto netns = find_netns_again(record.netns.path, record.netns)) return netns;
    return find_netns_again(netns_path, record.netns);
}

PodIdentity pod_of(const state::AttachmentRecord& record) {
    return {.netns = record.netns, .pid_view = record.pid_view, .boot_id = record.boot_id};
}

// The whole policy. Only what is `dead` is ever reclaimed.
//
//   boot      the recorded namespace                             PID namespace of the caller   the pod is
//   --------  -------------------------------------------------  ----------------------------  ----------
//   unknown                                                                                    unknown
//   earlier                                                                                    dead
//   present   is not recorded                                                                  unknown
//   present   is at its path, or a process or mount has it       any                           alive
//   present   is gone, and a new namespace has its inode number  any                           dead
//   present   is not found, everything was examined              the initial one, or the one   dead
//                                                                that wrote the record
//   present   is not found, everything was examined              another one                   unknown
//   present   is not found, something could not be examined      any                           unknown
ipam::Verdict PodProbe::probe(const PodIdentity& pod) {
    if (pod.boot_id.empty()) return unknown("no readable record says when it was attached");
    if (pod.boot_id != node_.boot_id) return {.liveness = ipam::Liveness::dead};
    if (pod.netns.inode == 0) return unknown("no record says which network namespace it has");
    try {
        switch (search(pod.netns)) {
        case Found::yes: return {.liveness = ipam::Liveness::alive};
        case Found::without_path:
            return {.liveness = ipam::Liveness::alive,
                    .held_by = describe_holder(living_->paths.at(pod.netns.inode), pod.netns)};
        case Found::inode_reused: return {.liveness = ipam::Liveness::dead};
        case Found::no: break;
        }
    } catch (const base::Error& error) {
        return unknown(fmt::format("{}: try again", error.what()));
    }
    if (std::string reason = why_not_seen(pod); !reason.empty()) return unknown(std::move(reason));
    if (!living_->doubt.empty()) return unknown(living_->doubt);
    return {.liveness = ipam::Liveness::dead};
}

/// Why the processes of the pod may be missing in our /proc. Empty if /proc shows all of them.
std::string PodProbe::why_not_seen(const PodIdentity& pod) const {
    const kernel::ProcView& view = node_.view;
    if (view.sees_all()) return {};
    if (view.id() == 0) return "it is unknown whose processes /proc shows: run `rdmanet gc` on the node itself";
    if (pod.pid_view == view.id()) return {};
    return "it was attached from another PID namespace, whose processes cannot be seen here: run `rdmanet gc` on the "
           "node "
           "itself, not in a container";
}

ipam::Verdict PodProbe::probe(const ipam::Owner& owner) {
    if (!owner.other_node.empty())
        return unknown(fmt::format("its pod is on node {}: only that node can tell", base::quoted(owner.other_node)));
    return probe(
        PodIdentity{.netns = {.path = owner.netns_path, .inode = owner.netns_inode, .cookie = owner.netns_cookie},
                    .pid_view = owner.pid_view,
                    .boot_id = owner.boot_id});
}

/// False if the path cannot be read, because that proves nothing. If a mount or a living process has the namespace,
/// the search over all processes finds it anyway.
bool is_at_path(const std::string& path, const state::NetnsIdentity& netns) try {
    return find_netns_again(path, netns).has_value();
} catch (const base::SystemError&) {
    return false;
}

/// Throws base::Error if processes start and end too quickly to tell.
PodProbe::Found PodProbe::search(const state::NetnsIdentity& netns) {
    if (is_at_path(netns.path, netns)) return Found::yes;
    for (const bool fresh : {!living_.has_value(), true}) {
        if (fresh) living_ = kernel::list_live_netns();
        const auto path = living_->paths.find(netns.inode);
        if (path == living_->paths.end()) return Found::no;
        if (find_netns_again(path->second, netns)) return Found::without_path;
        const auto now = kernel::find_netns(path->second);
        if (now && now->id().inode == netns.inode) return Found::inode_reused;
        if (fresh) break;
        // The process that led to the namespace has ended or left it. Search again: other processes may be in it.
    }
    throw base::Error("processes in its network namespace start and end too quickly to look at them");
}

} // namespace rdmanet::attach
