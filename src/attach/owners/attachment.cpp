#include "attachment.hpp"

#include "lookup/node_directory.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/ipam/store/lease_file.hpp>

#include <utility>

namespace rdmanet::attach {
state::AttachmentKey key_of(const cni::Request& request) {
    const char* const role = config::is_ipam_only(request.conf)   ? state::kIpamRole
                             : config::is_rdma_only(request.conf) ? state::kRdmaRole
                                                                  : "";
    return {.network = request.conf.name,
            .container_id = request.container_id,
            .ifname = request.ifname().to_string(),
            .role = role};
}

void require_storable(const state::AttachmentKey& key, const cni::InputNames& names) {
    const std::size_t length = key.container_id.size() + key.ifname.size() + key.network.size();
    const std::size_t others = key.file_name().size() - length; // the role's suffix among them
    if (length + others > state::kLongestFileName)
        throw cni::CniError(cni::ErrorCode::invalid_environment,
                            fmt::format("{}, {} and the network's name are too long: {} bytes together, expected at "
                                        "most {}: give the network a shorter name",
                                        names.container_id, names.ifname, length, state::kLongestFileName - others));
}

state::NetnsIdentity identify(const std::string& path, const kernel::Netns& netns) {
    return {
        .path = path, .device = netns.id().device, .inode = netns.id().inode, .cookie = kernel::netns_cookie(netns)};
}

state::NetnsIdentity identify(const std::string& path, const kernel::Netns& netns, const kernel::Socket& inside) {
    return {.path = path, .device = netns.id().device, .inode = netns.id().inode, .cookie = inside.netns_cookie()};
}

state::AttachmentRecord begin_record(const cni::Request& request, const Node& node, state::NetnsIdentity netns) {
    if (const std::string fault = why_state_directory_is_not_the_nodes(node.state_directory); !fault.empty())
        node.log.warn(fault);
    const ipam::Time now = ipam::system_time();
    state::AttachmentRecord record;
    record.key = key_of(request);
    record.boot_id = node.boot_id;
    record.pid_view = node.view.id();
    record.created = now.epoch;
    record.created_since_boot = now.boot;
    record.netns = std::move(netns);
    record.pod = {
        .pod_namespace = request.args.pod_namespace, .name = request.args.pod_name, .uid = request.args.pod_uid};
    return record;
}

} // namespace rdmanet::attach
