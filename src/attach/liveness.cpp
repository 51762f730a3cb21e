#include "liveness.hpp"

#include <rdmanet/attach/pod_view.hpp>
#include <rdmanet/base/text.hpp>

#include <utility>

namespace rdmanet::attach {
namespace {

using base::concat;

ipam::Verdict unknown(std::string reason) {
    return {.liveness = ipam::Liveness::unknown, .reason = std::move(reason)};
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

NetnsTrace trace_of(const state::AttachmentRecord& record) {
    return {.netns = record.netns, .pid_namespace_inode = record.pid_namespace_inode, .boot_id = record.boot_id};
}

ipam::Verdict Undertaker::probe(const NetnsTrace& trace) {
    const ipam::Verdict alive{.liveness = ipam::Liveness::alive};
    const ipam::Verdict dead{.liveness = ipam::Liveness::dead};
    if (trace.boot_id.empty()) return unknown("nothing says which boot of the node it belongs to");
    if (trace.boot_id != node_.boot_id) return dead;
    try {
        if (find_netns_again(trace.netns.path, trace.netns)) return alive;
        if (trace.netns.inode == 0) return unknown("nothing says which network namespace its pod has");
        if (trace.pid_namespace_inode != node_.pid_namespace_inode)
            return unknown("it was attached from another PID namespace, whose processes are not to be seen here: run "
                           "`rdmanet gc` on the node itself, not in a container");
        return is_used_by_anyone(trace.netns) ? alive : dead;
    } catch (const base::Error& error) { // what can't be examined isn't proven
        return unknown(error.what());
    }
}

ipam::Verdict Undertaker::probe(const ipam::Owner& owner) {
    return probe(
        NetnsTrace{.netns = {.path = owner.netns_path, .inode = owner.netns_inode, .cookie = owner.netns_cookie},
                   .pid_namespace_inode = owner.pid_namespace_inode,
                   .boot_id = owner.boot_id});
}

std::vector<ipam::Verdict> view_pods(const std::vector<state::AttachmentRecord>& records, const Node& node) {
    Undertaker undertaker(node);
    std::vector<ipam::Verdict> pods;
    pods.reserve(records.size());
    for (const state::AttachmentRecord& record : records) pods.push_back(undertaker.probe(trace_of(record)));
    return pods;
}

bool Undertaker::is_used_by_anyone(const state::NetnsIdentity& netns) {
    for (const bool fresh : {!living_.has_value(), true}) {
        if (fresh) living_ = kernel::list_live_netns();
        const auto path = living_->paths.find(netns.inode);
        if (path == living_->paths.end()) {
            if (!living_->doubt.empty())
                throw base::Error(concat(living_->doubt,
                                         ", and may be in its network namespace: run `rdmanet gc` as root "
                                         "of the node, with CAP_SYS_PTRACE"));
            return false;
        }
        if (find_netns_again(path->second, netns)) return true;
        const auto now = kernel::find_netns(path->second);
        if (now && now->id().inode == netns.inode) return false; // the number belongs to another namespace by now
        if (fresh) break;
        // The process by which it was found has ended or gone elsewhere since: others may live in it.
    }
    throw base::Error("processes of its network namespace come and go: try again");
}

} // namespace rdmanet::attach
