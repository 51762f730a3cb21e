// Runs operations against a machine in memory (unit/fake_kernel), for one network and one pod.
#pragma once

#include "support/directory.hpp"
#include "unit/fake_kernel/machine.hpp"

#include <rdmanet/attach/operations.hpp>
#include <rdmanet/attach/preview.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/cni/result.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::attach::test {

inline constexpr const char* kPodPath = "/run/netns/pod";

/// Ethernet PF 3b:00.0 ("eth0") with VFs 3b:00.2 ("eth0v0") and 3b:00.3, InfiniBand PF 5e:00.0 ("ib0") with VF
/// 5e:00.1 ("ib0v0"), a NIC 81:00.0 ("eth7"), and the namespace of a pod. Each VF is VF 0 or 1 of its PF.
class Rig {
public:
    /// `members` of the network configuration.
    explicit Rig(std::string members);

    kernel::fake::Machine& machine = kernel::fake::machine();
    std::uint64_t pod = 0;
    std::string members; // the network configuration's
    std::string network = "net";
    std::string type = "rdmanet"; // else rdmanet is the IPAM plugin of that one
    std::string container = "c1";
    std::optional<std::string> wanted_by_runtime = ""; // attachments, JSON; null: GC has no list
    std::string args{};                                // CNI_ARGS
    std::string netns = kPodPath;                      // CNI_NETNS
    std::string plugins = "/opt";                      // CNI_PATH
    std::vector<std::string> log{};                    // messages

    /// Each returns the error ("code 102: ..."), or nothing.
    std::string add();
    std::string del();
    std::string check();
    std::string status();
    std::string gc(); // of the runtime
    std::string gc_of_node();

    [[nodiscard]] Preview preview();
    [[nodiscard]] std::string refusal_of_plan();
    /// check_node()'s line about the attachment.
    [[nodiscard]] std::string check_of_node();
    [[nodiscard]] Node node();
    [[nodiscard]] std::vector<state::AttachmentRecord> records();
    [[nodiscard]] cni::Request request(cni::Command command);
    /// What the machine was asked to change since the last call.
    [[nodiscard]] std::vector<std::string> take_changes();
    /// What was logged since the last call, a line each.
    [[nodiscard]] std::string take_log();

    std::optional<cni::Result> result{}; // of the last ADD; CHECK passes it on
    std::string prev_result{};           // of earlier plugins: JSON

private:
    [[nodiscard]] bool is_ipam() const { return type != "rdmanet"; }

    const rdmanet::test::Directory state_{"/dev/shm"}; // where no write waits for a disk

public:
    const std::string& directory = state_.path();
};

} // namespace rdmanet::attach::test
