#include "liveness.hpp"

#include <rdmanet/kernel/live_namespaces.hpp>
#include <rdmanet/kernel/netns.hpp>

#include <exception>

namespace rdmanet::attach {
namespace {

bool leads_to(const std::string& path, std::uint64_t device, std::uint64_t inode) {
    if (path.empty()) return false;
    try {
        const auto netns = kernel::find_netns(path);
        return netns && netns->id() == kernel::NetnsId{device, inode};
    } catch (const kernel::NotANetnsError&) {
        return false;
    }
}

} // namespace

NetnsTrace trace_of(const state::AttachmentRecord& record) {
    return {.path = record.netns.path,
            .device = record.netns.device,
            .inode = record.netns.inode,
            .pid_namespace_inode = record.pid_namespace_inode,
            .boot_id = record.boot_id};
}

ipam::Liveness Undertaker::probe(const NetnsTrace& trace) {
    if (trace.boot_id.empty()) return ipam::Liveness::unknown;
    if (trace.boot_id != node_.boot_id) return ipam::Liveness::dead;
    try {
        if (leads_to(trace.path, trace.device, trace.inode)) return ipam::Liveness::alive;
        if (trace.inode == 0 || trace.pid_namespace_inode != node_.pid_namespace_inode) return ipam::Liveness::unknown;
        return is_used_by_anyone(trace.inode) ? ipam::Liveness::alive : ipam::Liveness::dead;
    } catch (const base::Error&) {
        return ipam::Liveness::unknown; // what can't be examined isn't proven
    }
}

ipam::Liveness Undertaker::probe(const ipam::Owner& owner) {
    return probe(NetnsTrace{.path = owner.netns_path,
                            .device = owner.netns_device,
                            .inode = owner.netns_inode,
                            .pid_namespace_inode = owner.pid_namespace_inode,
                            .boot_id = owner.boot_id});
}

bool Undertaker::is_used_by_anyone(std::uint64_t inode) {
    const auto known = used_.find(inode);
    if (known != used_.end()) return known->second;
    const bool used = kernel::find_live_netns({inode}).contains(inode);
    used_.emplace(inode, used);
    return used;
}

} // namespace rdmanet::attach
