#include "pod_view.hpp"

#include "files.hpp"
#include "processes.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/kernel/netns.hpp>

#include <chrono>

namespace rdmanet::doctor {

std::string subject_of_interface(const Context& context, const inventory::Interface& interface) {
    return fmt::format("{} {}", pod_of(context).to_string(), interface.net.name);
}

std::vector<std::string> processes_of(const Context& context) {
    std::vector<std::string> found = list_processes(context);
    const std::string wanted = fmt::format("net:[{}]", pod_of(context).inode);
    std::erase_if(
        found, [&](const std::string& process) { return link_target_of(fmt::format("{}/ns/net", process)) != wanted; });
    return found;
}

kernel::Socket open_in_pod(const Context& context) {
    return kernel::Socket::open_in(kernel::get_netns(pod_of(context).path), kernel::Protocol::route,
                                   base::Deadline::in(std::chrono::seconds(1)));
}

} // namespace rdmanet::doctor
