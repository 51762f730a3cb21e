// Callers in their own containers, such as a Multus daemon in a pod, and pods without a name on the node.
#pragma once

#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/patience.hpp"

#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>

namespace rdmanet::test {

/// A pod without a name: a process in its own network namespace.
class ProcessPod {
public:
    ProcessPod() : pid_(shell("unshare --net sleep infinity >/dev/null 2>&1 & echo -n $!")) {
        (void)comes_true([&] {
            return succeeds(
                concat("! [ ", path(), " -ef /proc/self/ns/net ] && [ $(cat /proc/", pid_, "/comm) = sleep ]"));
        });
    }
    ProcessPod(const ProcessPod&) = delete;
    ProcessPod& operator=(const ProcessPod&) = delete;
    ~ProcessPod() { end(); }

    [[nodiscard]] const std::string& pid() const { return pid_; }
    [[nodiscard]] std::string path() const { return concat("/proc/", pid_, "/ns/net"); }

    void end() {
        if (pid_.empty()) return;
        (void)::kill(std::stoi(pid_), SIGKILL);
        (void)comes_true([&] { return !succeeds(concat("test -e ", path())); });
        pid_.clear();
    }

private:
    std::string pid_;
};

/// A program that runs the binary behind other commands.
class Wrapper {
public:
    Wrapper(const std::string& name, const std::string& commands) : path_(concat("/tmp/rdmanet-", name)) {
        std::ofstream(path_) << "#!/bin/bash\nexec " << commands << ' ' << binary() << " \"$@\"\n";
        shell("chmod 755 " + path_);
    }
    Wrapper(const Wrapper&) = delete;
    Wrapper& operator=(const Wrapper&) = delete;
    ~Wrapper() { (void)std::remove(path_.c_str()); }

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

/// Its own PID namespace and /proc. The node's other mounts propagate into it.
inline const std::string kContainer = "unshare --pid --fork --kill-child --mount --propagation slave --mount-proc";

/// A call for the namespace at `netns`, with a child of par0 and an address of `range`.
inline PluginCall call_at(const std::string& netns, const std::string& container, const std::string& range) {
    PluginCall call;
    call.container = container;
    call.netns = netns;
    call.config =
        json_text(concat("{'cniVersion':'1.1.0','name':'net','type':'rdmanet','master':'par0',", ipam(range), '}'));
    return call;
}

/// Runs `rdmanet gc` and the like in the wrapper's container.
inline std::string run_in(const Wrapper& wrapper, const std::string& arguments) {
    return shell(concat(wrapper.path(), ' ', arguments, " 2>&1"));
}

} // namespace rdmanet::test
