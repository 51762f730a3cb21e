// A node for a test: pods (named network namespaces) and parents (interfaces of the host). They are removed at the
// end.
#pragma once

#include "support/snapshot.hpp"

#include <string>

namespace rdmanet::test {

/// The first line of a file. Empty if the file cannot be read.
[[nodiscard]] std::string line_of(const std::string& path);

/// Runs commands for `ip -batch`, one on each line, in one process. Throws if a command fails, with the first
/// failure.
void ip_batch(const std::string& commands);

/// Waits for an interface of the host.
void wait_until_up(const std::string& interface);

/// A network namespace /run/netns/NAME with its loopback up, as a runtime makes it for a pod.
class Pod {
public:
    explicit Pod(std::string name);
    Pod(const Pod&) = delete;
    Pod& operator=(const Pod&) = delete;
    ~Pod();

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] std::string path() const { return "/run/netns/" + name_; }
    /// Output of a shell command in the namespace. Throws if it fails.
    std::string run(const std::string& command) const;
    [[nodiscard]] bool succeeds(const std::string& command) const;
    /// Deletes the namespace's name, without a DEL.
    void destroy();

private:
    std::string name_;
    bool exists_ = true;
};

/// A veth pair with one end as a parent without RDMA. It is up, and works on any kernel.
class VethParent {
public:
    explicit VethParent(std::string name, unsigned mtu = 1500);
    VethParent(const VethParent&) = delete;
    VethParent& operator=(const VethParent&) = delete;
    ~VethParent();

    [[nodiscard]] const std::string& name() const { return name_; }

private:
    std::string name_;
};

/// An RDMA parent of this machine: port `number` of the software NIC, set up. Empty if there is none.
[[nodiscard]] std::string rdma_parent(unsigned number = 0);
/// Name of the RDMA device of a parent ("rnic0").
[[nodiscard]] std::string rdma_device_of(const std::string& parent);

[[nodiscard]] bool kernel_has(const std::string& link_kind);
[[nodiscard]] bool is_initial_pid_namespace();

/// A snapshot of the node. The test ends with the check that nothing differs.
class UnchangedNode {
public:
    explicit UnchangedNode(Numbers numbers = Numbers::compared)
        : numbers_(numbers), before_(Snapshot::take_settled(numbers)) {}
    /// What differs now. Waits a moment for what the kernel does later (GIDs are removed by a work queue).
    [[nodiscard]] std::string difference() const;

private:
    Numbers numbers_;
    Snapshot before_;
};

} // namespace rdmanet::test
