// Calls of the binary through a shell: with closed and full outputs, with limits, from unusual places.
#pragma once

#include "attachment_stage.hpp"

#include <string>

namespace rdmanet::test {

/// Runs the binary by a shell command. "$0" in it is the binary's path.
inline ProcessResult run_by_shell(const std::string& command, const PluginCall& call) {
    return run_process({"/bin/bash", "-c", command, call.program}, call.options());
}

/// A dual-stack configuration with routes and DNS.
inline PluginCall dual_stack(const Pod& pod, const std::string& version) {
    return call_for(pod,
                    "'master':'par0','dns':{'nameservers':['10.60.0.53'],'search':['a.b']},"
                    "'ipam':{'type':'rdmanet','cooldown':0,'ipRanges':[{'range':'10.60.0.0/24','gateway':'10.60.0.1'},"
                    "{'range':'fd60::/64'}],'routes':[{'dst':'10.61.0.0/16','priority':7},{'dst':'fd61::/64',"
                    "'gw':'fd60::ff'}]}",
                    version);
}

} // namespace rdmanet::test
