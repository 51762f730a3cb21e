#include "support/nested_netns.hpp"
#include "support/concat.hpp"

#include "support/patience.hpp"
#include "support/process.hpp"

namespace rdmanet::test {

NestedNetns::NestedNetns(const Pod& pod)
    : pid_(pod.run("unshare -n sleep infinity >/dev/null 2>&1 & echo $! | tr -d '\\n'")) {
    shell(concat("until [[ $(readlink /proc/", pid_, "/ns/net) != $(ip netns exec ", pod.name(),
                 " readlink /proc/self/ns/net) && $(cat /proc/", pid_, "/comm) == sleep ]]; do sleep 0.01; done"));
}

void NestedNetns::take(const Pod& pod, const std::string& ifname) const {
    pod.run(concat("ip link set ", ifname, " netns ", pid_));
    shell(concat("nsenter -t ", pid_, " -n ip link set ", ifname, " up"));
}

std::string NestedNetns::carrier(const std::string& ifname) const {
    return shell(concat("nsenter -t ", pid_, " -n ip -br link show ", ifname, " | grep -o LOWER_UP || true"));
}

void NestedNetns::destroy() const {
    (void)succeeds(concat("kill -9 ", pid_));
    wait_until(concat("! kill -0 ", pid_)); // the namespace ends with the process
}

} // namespace rdmanet::test
