#include "call.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/ipam/store/lease_file.hpp>
#include <rdmanet/kernel/mountinfo.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace rdmanet::attach {
namespace {

/// Whether the node may have this file system at another path. The container's own root does not count: it is mounted
/// on the node, too, but ends with the container.
bool may_be_on_node(dev_t device) try {
    const auto mountinfo = kernel::read_mountinfo("/proc/1");
    if (!mountinfo) return true; // the first process is hidden
    struct stat root {};
    if (::stat("/", &root) == 0 && root.st_dev == device) return false;
    return !kernel::find_mount(device, *mountinfo).empty();
} catch (const base::SystemError&) {
    return true;
}

/// A container that calls rdmanet may have a /run of its own, whose files end with the container. Returns a warning
/// with the fix in that case. Empty if the first process in /proc has the same directory, or its file system at
/// another path, or if this cannot be known.
std::string why_state_directory_is_not_the_nodes(const std::string& state_directory) {
    struct stat ours {};
    struct stat theirs {};
    if (::stat(state_directory.c_str(), &ours) != 0) return {};
    const int result = ::stat(fmt::format("/proc/1/root{}", state_directory).c_str(), &theirs);
    if (result != 0 && (errno != ENOENT || may_be_on_node(ours.st_dev))) return {};
    if (result == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino) return {};
    return fmt::format(
        "state directory {} is this container's and not the node's, so its records end with the container: "
        "mount the node's /run into the container",
        state_directory);
}

} // namespace

struct Call::State {
    State(const Node& node, state::Access access) : records(node.records(access)), leases(node, records) {}

    state::AttachmentStore records;
    leases::Leases leases;
};

Call::Call(const Node& its_node, base::Deadline until, state::Access access, const base::Logger* its_log)
    : state_(std::make_shared<State>(its_node, access)), node(its_node),
      log(its_log == nullptr ? its_node.log : *its_log), deadline(until),
      returned_by(base::Deadline::in(kReturnTimeout)), records(state_->records), leases(state_->leases) {}

Call::Call(const Node& its_node, base::Deadline until, const cni::Request& its_request, state::Access access,
           const base::Logger* its_log)
    : Call(its_node, until, access, its_log) {
    request = &its_request;
    if (its_request.pod_ifname) key = key_of(its_request);
}

Call Call::to_undo(base::Deadline until) const {
    Call call = *this;
    call.deadline = until;
    call.returned_by = base::Deadline::in(kReturnTimeout);
    return call;
}

Call Call::to_undo_another(base::Deadline until) const {
    Call call = to_undo(until);
    call.request = nullptr;
    call.config = nullptr;
    call.key = {};
    call.pod = nullptr;
    call.host = nullptr;
    call.disregarded.clear();
    return call;
}

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

state::AttachmentRecord begin_record(const Call& call, state::NetnsIdentity netns) {
    const Node& node = call.node;
    if (const std::string fault = why_state_directory_is_not_the_nodes(node.state_directory); !fault.empty())
        call.log.warn(fault);
    const ipam::Time now = ipam::system_time();
    state::AttachmentRecord record;
    record.key = call.key;
    record.boot_id = node.boot_id;
    record.pid_view = node.view.id();
    record.created = now.epoch;
    record.created_since_boot = now.boot;
    record.netns = std::move(netns);
    const cni::Args& args = call.request->args;
    record.pod = {.pod_namespace = args.pod_namespace, .name = args.pod_name, .uid = args.pod_uid};
    return record;
}

} // namespace rdmanet::attach
