#include "delegate.hpp"

#include "owners/liveness.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/delegate.hpp>

namespace rdmanet::attach {
namespace {

using base::concat;

/// By which the recorded namespace is found; empty if it is gone.
std::string path_of_netns(const RevertContext& context) {
    for (const std::string* path : {&context.record.netns.path, &context.caller.netns_path})
        if (find_netns_again(*path, context.record.netns)) return *path;
    return {};
}

void delegate_del_with(const std::string& config, const state::DelegateIpam& step, const RevertContext& context) {
    const state::AttachmentRecord& record = context.record;
    cni::delegate_del(
        {.plugin = step.plugin,
         .config = config,
         .container_id = record.key.container_id,
         .netns_path = path_of_netns(context),
         .ifname = record.key.ifname,
         .args = step.args,
         .path = context.caller.cni_path.empty() ? step.path : concat(context.caller.cni_path, ':', step.path)},
        context.deadline);
}

} // namespace

state::DelegateIpam delegate_step(const cni::Request& request, const std::string& plugin) {
    return {.plugin = plugin, .config = request.stdin_text, .args = request.args_text, .path = request.path_text};
}

/// A configuration that the plugin can't read keeps it from releasing anything. Its correction reaches the node with
/// the next call, and the pod's addresses are told by container and interface.
void revert_step(const state::DelegateIpam& step, const RevertContext& context) {
    const Caller& caller = context.caller;
    try {
        delegate_del_with(step.config, step, context);
    } catch (const base::Error& error) {
        if (caller.ipam_type != step.plugin || caller.config == step.config) throw;
        const std::string with_own = error.what();
        base::in_context(concat(with_own, "; with the present configuration"),
                         [&] { delegate_del_with(caller.config, step, context); });
    }
}

} // namespace rdmanet::attach
