#include "liveness.hpp"

#include <rdmanet/base/process.hpp>
#include <rdmanet/base/text.hpp>

#include <utility>

namespace rdmanet::attach {
namespace {

using base::concat;

ipam::Verdict unknown(std::string reason) {
    return {.liveness = ipam::Liveness::unknown, .reason = std::move(reason)};
}

/// Who keeps a namespace that its recorded path does not lead to. Empty if the node's first process sees that path:
/// then only the caller does not.
std::string describe_holder(const std::string& found_by, const state::NetnsIdentity& netns) {
    constexpr const char* kThen = " it, then run `rdmanet gc`";
    const kernel::NetnsHolder holder = kernel::parse_holder(found_by);
    const std::string process = base::describe_process(holder.pid);
    if (holder.mount_point.empty()) return concat("held by ", process, ": end", kThen);
    if (holder.pid == 1 && holder.mount_point == netns.path) return {};
    return concat("held by a mount at ", holder.mount_point, ", as ", process, " sees it: unmount", kThen);
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

NetnsTrace trace_of(const state::AttachmentRecord& record) {
    return {.netns = record.netns, .pid_view = record.pid_view, .boot_id = record.boot_id};
}

// The whole policy. Only `dead` is ever collected.
//
//   boot       the recorded namespace                            who looks                     the pod is
//   ---------  ------------------------------------------------  ----------------------------  ----------
//   unknown                                                                                    unknown
//   earlier                                                                                    dead
//   this one   is not recorded                                                                 unknown
//   this one   is at its path, or a process or mount has it      anybody                       alive
//   this one   has lost its number to a younger one              anybody                       dead
//   this one   is not found, everything was examined             who sees every process, or    dead
//                                                                the view that attached it
//   this one   is not found, everything was examined             another view                  unknown
//   this one   is not found, something could not be examined     anybody                       unknown
ipam::Verdict PodProbe::probe(const NetnsTrace& trace) {
    if (trace.boot_id.empty()) return unknown("nothing says which boot of the node it belongs to");
    if (trace.boot_id != node_.boot_id) return {.liveness = ipam::Liveness::dead};
    if (trace.netns.inode == 0) return unknown("nothing says which network namespace its pod has");
    try {
        switch (search(trace.netns)) {
        case Found::yes: return {.liveness = ipam::Liveness::alive};
        case Found::without_path:
            return {.liveness = ipam::Liveness::alive,
                    .held_by = describe_holder(living_->paths.at(trace.netns.inode), trace.netns)};
        case Found::number_of_another: return {.liveness = ipam::Liveness::dead};
        case Found::no: break;
        }
    } catch (const base::Error& error) {
        return unknown(concat(error.what(), ": try again"));
    }
    if (std::string reason = why_not_seen(trace); !reason.empty()) return unknown(std::move(reason));
    if (!living_->doubt.empty()) return unknown(living_->doubt);
    return {.liveness = ipam::Liveness::dead};
}

/// Why our /proc need not show the processes of that pod; empty if it does.
std::string PodProbe::why_not_seen(const NetnsTrace& trace) const {
    const kernel::ProcView& view = node_.view;
    if (view.sees_all()) return {};
    if (view.id() == 0) return "cannot tell whose processes /proc shows: run `rdmanet gc` on the node itself";
    // Records of earlier versions have the inode number alone, which a later container may have again: no proof.
    if (trace.pid_view == view.id()) return {};
    return "it was attached from another PID namespace, whose processes can't be seen here: run `rdmanet gc` on the "
           "node "
           "itself, not in a container";
}

ipam::Verdict PodProbe::probe(const ipam::Owner& owner) {
    return probe(
        NetnsTrace{.netns = {.path = owner.netns_path, .inode = owner.netns_inode, .cookie = owner.netns_cookie},
                   .pid_view = owner.pid_view,
                   .boot_id = owner.boot_id});
}

/// A path that may not be looked at proves nothing. If a mount or a living process is behind it, the search comes to
/// that, too.
bool leads_there(const std::string& path, const state::NetnsIdentity& netns) try {
    return find_netns_again(path, netns).has_value();
} catch (const base::SystemError&) {
    return false;
}

/// Throws base::Error if nothing comes of it.
PodProbe::Found PodProbe::search(const state::NetnsIdentity& netns) {
    if (leads_there(netns.path, netns)) return Found::yes;
    for (const bool fresh : {!living_.has_value(), true}) {
        if (fresh) living_ = kernel::list_live_netns();
        const auto path = living_->paths.find(netns.inode);
        if (path == living_->paths.end()) return Found::no;
        if (find_netns_again(path->second, netns)) return Found::without_path;
        const auto now = kernel::find_netns(path->second);
        if (now && now->id().inode == netns.inode) return Found::number_of_another;
        if (fresh) break;
        // The process by which it was found has ended or gone elsewhere since: others may live in it.
    }
    throw base::Error("processes of its network namespace come and go");
}

} // namespace rdmanet::attach
