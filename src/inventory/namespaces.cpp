#include "namespaces.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/inventory/files.hpp>
#include <rdmanet/kernel/live_namespaces.hpp>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace rdmanet::inventory {
namespace {

/// "net:[4026531840]"; 0 if it is something else.
std::uint64_t inode_of(std::string_view link) {
    const std::size_t begin = link.find('[');
    if (begin == std::string_view::npos || !link.ends_with(']')) return 0;
    return base::parse_integer<std::uint64_t>(link.substr(begin + 1, link.size() - begin - 2)).value_or(0);
}

Namespace describe(std::uint64_t inode, const std::string& path, const std::string& proc) {
    const kernel::NetnsHolder holder = kernel::parse_holder(path, proc);
    Namespace found{.inode = inode, .path = path, .mount_point = holder.mount_point, .pid = holder.pid};
    if (!found.mount_point.empty()) return found;
    const std::string process = fmt::format("{}/{}", proc, holder.pid);
    found.process = line_of(fmt::format("{}/comm", process));
    found.pod_uid = pod_uid_of_cgroup(line_of(fmt::format("{}/cgroup", process)));
    return found;
}

} // namespace

std::string pod_uid_of_cgroup(std::string_view cgroup) {
    constexpr std::string_view kPod = "pod";
    constexpr std::size_t kUid = 36;
    if (cgroup.find("kubepods") == std::string_view::npos) return {};
    for (std::size_t at = 0; (at = cgroup.find(kPod, at)) != std::string_view::npos; ++at) {
        std::string uid(cgroup.substr(at + kPod.size(), kUid));
        std::ranges::replace(uid, '_', '-'); // systemd's names of slices have '-' for the levels
        const bool is_uid = uid.size() == kUid && std::ranges::count(uid, '-') == 4 &&
                            uid.find_first_not_of("0123456789abcdef-") == std::string::npos;
        if (is_uid) return uid;
    }
    return {};
}

std::string Namespace::to_string() const {
    if (!pod.name.empty()) return base::scoped_name(pod.pod_namespace, pod.name);
    if (!pod_uid.empty()) return fmt::format("pod {}", pod_uid);
    if (!mount_point.empty()) return mount_point;
    return pid == 0 ? std::string() : fmt::format("process {} ({})", pid, process);
}

std::vector<Namespace> list_namespaces(const std::string& proc, const std::vector<state::AttachmentRecord>& records,
                                       std::vector<std::string>& unseen) {
    const std::uint64_t host = inode_of(link_target_of(fmt::format("{}/1/ns/net", proc)));
    const std::uint64_t own = inode_of(link_target_of("/proc/thread-self/ns/net"));
    std::vector<Namespace> found{{.inode = host != 0 ? host : own, .path = fmt::format("{}/1/ns/net", proc)}};
    const kernel::LiveNetns live = kernel::list_live_netns(proc);
    if (!live.doubt.empty())
        unseen.push_back(
            fmt::format("some processes' network namespaces ({}): run it as root on the node", live.doubt));
    std::map<std::uint64_t, const state::Pod*> pods;
    for (const state::AttachmentRecord& record : records) pods.emplace(record.netns.inode, &record.pod);
    // In a container with processes of its own, the first process is the container's.
    found.front().pod_uid = pod_uid_of_cgroup(line_of(fmt::format("{}/1/cgroup", proc)));
    if (const auto at = pods.find(found.front().inode); at != pods.end()) found.front().pod = *at->second;
    for (const auto& [inode, path] : live.paths) {
        if (inode == found.front().inode) continue;
        Namespace each = describe(inode, path, proc);
        if (const auto at = pods.find(inode); at != pods.end()) each.pod = *at->second;
        found.push_back(std::move(each));
    }
    std::sort(found.begin() + 1, found.end(), [](const Namespace& a, const Namespace& b) {
        return std::pair(a.to_string(), a.inode) < std::pair(b.to_string(), b.inode);
    });
    return found;
}

} // namespace rdmanet::inventory
