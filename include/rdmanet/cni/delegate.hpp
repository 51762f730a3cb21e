// Running another plugin, as section 4 of the CNI specification says: same input, same environment, other command.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/cni/result.hpp>

#include <string>

namespace rdmanet::cni {

struct DelegateCall {
    std::string plugin;       // "ipam.type"
    std::string config;       // standard input of the plugin
    std::string container_id; // the CNI_* variables; empty ones are passed empty
    std::string netns_path;
    std::string ifname;
    std::string args;
    std::string path; // CNI_PATH: directories in which the plugin is looked for
};

/// The call that passes `request` on.
[[nodiscard]] DelegateCall delegate_call(const Request& request, const std::string& plugin);

/// Throws what the call would throw because the plugin is missing or nobody may execute it. A failed ADD is followed by
/// a DEL, which can't be delivered to such a plugin either: what asks it first has nothing to undo.
void require_plugin(const DelegateCall& call);

/// This process is the IPAM plugin of another process of this plugin: "ipam.type" leads back here.
[[nodiscard]] bool is_own_delegate();

// Each runs the plugin to its end, or to the deadline: then it and what it started in its process group are killed and
// TimeoutError names it. It doesn't outlive us either (PR_SET_PDEATHSIG). A plugin's own error is
// PluginError, with its code and details; one that is missing, dies or prints rubbish is CniError(delegate).
[[nodiscard]] Result delegate_add(const DelegateCall& call, const base::Deadline& deadline);
void delegate_del(const DelegateCall& call, const base::Deadline& deadline);
void delegate_check(const DelegateCall& call, const base::Deadline& deadline);
void delegate_gc(const DelegateCall& call, const base::Deadline& deadline);
void delegate_status(const DelegateCall& call, const base::Deadline& deadline);

} // namespace rdmanet::cni
