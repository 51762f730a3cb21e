// Running another plugin (CNI specification, section 4): same input, same environment, another command.
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
    std::string path;                   // CNI_PATH: the directories to search for the plugin
    std::string path_name = "CNI_PATH"; // what messages call it
};

/// The call that passes `request` on to `plugin`.
[[nodiscard]] DelegateCall delegate_call(const Request& request, const std::string& plugin);

/// Throws what the call would throw if the plugin is missing or may not be executed. A failed ADD is followed by a
/// DEL, which could not be delivered to such a plugin, either. A caller that asks first has nothing to undo.
void require_plugin(const DelegateCall& call);

/// True if rdmanet runs as the IPAM plugin of another rdmanet process: "ipam.type" leads back here.
[[nodiscard]] bool is_own_delegate();

// Each runs the plugin to its end or to the deadline. At the deadline the plugin and its process group are killed,
// and TimeoutError names the plugin. The plugin also ends if this process dies (PR_SET_PDEATHSIG). A plugin's own
// error is PluginError, with its code and details. A plugin that is missing, is killed or prints no CNI document is
// CniError (delegate).
[[nodiscard]] Result delegate_add(const DelegateCall& call, const base::Deadline& deadline);
void delegate_del(const DelegateCall& call, const base::Deadline& deadline);
void delegate_check(const DelegateCall& call, const base::Deadline& deadline);
void delegate_gc(const DelegateCall& call, const base::Deadline& deadline);
void delegate_status(const DelegateCall& call, const base::Deadline& deadline);

} // namespace rdmanet::cni
