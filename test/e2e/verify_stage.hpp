// `rdmanet verify` between pods of the software NIC.
#pragma once

#include "pod_call.hpp"
#include "vf_stage.hpp"

#include <string>

namespace rdmanet::test {

// The software NIC is far slower than its ports say, and the machine may be busy: any bandwidth will do.
inline constexpr const char* kPatient = " --expect 0 --seconds 600 ";

/// Standard output and exit status: the last line is the status.
[[nodiscard]] std::string verify(const std::string& arguments);

/// Values that jq expressions find in the report of a run.
[[nodiscard]] std::string values(const std::string& arguments, const std::string& expressions);

/// Every wrong check or cause: "id: what: fix".
[[nodiscard]] std::string faults(const std::string& arguments);

/// Two pods, "shop/till" and "shop/desk", with a VF each.
struct VfPair {
    Vfs vfs;
    Pod till{"till"};
    Pod desk{"desk"};
    UnchangedNode node;
    PluginCall first = as_pod(vf_call(vfs, till, 0, ipam("10.71.0.0/24")), "till");
    PluginCall second = as_pod(vf_call(vfs, desk, 1, ipam("10.71.0.0/24")), "desk");

    VfPair() {
        (void)add(first);
        (void)add(second);
    }
    /// Empty if nothing is left of the pods' interfaces and of the tests between them.
    [[nodiscard]] std::string end() const {
        const std::string said = del(first) + del(second);
        return said + node.difference();
    }
};

} // namespace rdmanet::test
