#include "liveness.hpp"

#include <rdmanet/attach/pod_view.hpp>

namespace rdmanet::attach {

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

ipam::Liveness Undertaker::probe(const NetnsTrace& trace) {
    if (trace.boot_id.empty()) return ipam::Liveness::unknown;
    if (trace.boot_id != node_.boot_id) return ipam::Liveness::dead;
    try {
        if (find_netns_again(trace.netns.path, trace.netns)) return ipam::Liveness::alive;
        const bool same_view = trace.pid_namespace_inode == node_.pid_namespace_inode;
        if (trace.netns.inode == 0 || !same_view) return ipam::Liveness::unknown;
        return is_used_by_anyone(trace.netns) ? ipam::Liveness::alive : ipam::Liveness::dead;
    } catch (const base::Error&) {
        return ipam::Liveness::unknown; // what can't be examined isn't proven
    }
}

ipam::Liveness Undertaker::probe(const ipam::Owner& owner) {
    return probe(
        NetnsTrace{.netns = {.path = owner.netns_path, .inode = owner.netns_inode, .cookie = owner.netns_cookie},
                   .pid_namespace_inode = owner.pid_namespace_inode,
                   .boot_id = owner.boot_id});
}

std::vector<ipam::Liveness> view_pods(const std::vector<state::AttachmentRecord>& records, const Node& node) {
    Undertaker undertaker(node);
    std::vector<ipam::Liveness> pods;
    pods.reserve(records.size());
    for (const state::AttachmentRecord& record : records) pods.push_back(undertaker.probe(trace_of(record)));
    return pods;
}

bool Undertaker::is_used_by_anyone(const state::NetnsIdentity& netns) {
    for (const bool fresh : {!living_.has_value(), true}) {
        if (fresh) living_ = kernel::list_live_netns();
        const auto path = living_->paths.find(netns.inode);
        if (path == living_->paths.end()) {
            if (!living_->complete) throw base::Error("some processes may not be examined: run as root of the host");
            return false;
        }
        if (find_netns_again(path->second, netns)) return true;
        const auto now = kernel::find_netns(path->second);
        if (now && now->id().inode == netns.inode) return false; // the number belongs to another namespace by now
        if (fresh) break;
        // The process by which it was found has ended or gone elsewhere since: others may live in it.
    }
    throw base::Error("processes of this network namespace come and go");
}

} // namespace rdmanet::attach
