// A node for a test: pods (named network namespaces) and parents (interfaces of the host), gone at the end of it.
#pragma once

#include "support/snapshot.hpp"

#include <string>

namespace rdmanet::test {

/// The first line of a file; empty if it can't be read.
[[nodiscard]] std::string line_of(const std::string& path);

/// One process for all of them, a line each, as for `ip -batch`. Throws with the first that failed.
void ip_batch(const std::string& commands);

/// An interface of the host.
void wait_until_up(const std::string& interface);

/// A network namespace /run/netns/NAME with its loopback up, as a runtime makes for a pod.
class Pod {
public:
    explicit Pod(std::string name);
    Pod(const Pod&) = delete;
    Pod& operator=(const Pod&) = delete;
    ~Pod();

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] std::string path() const { return "/run/netns/" + name_; }
    /// Output of a shell command run inside. Throws if it fails.
    std::string run(const std::string& command) const;
    [[nodiscard]] bool succeeds(const std::string& command) const;
    /// The namespace goes away, as when the node lost it behind the plugin's back.
    void destroy();

private:
    std::string name_;
    bool exists_ = true;
};

/// A veth pair whose one end is a parent without RDMA, up: works on any kernel.
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

/// Remembers the node as it is; the test ends by demanding that nothing differs.
class UnchangedNode {
public:
    explicit UnchangedNode(Numbers numbers = Numbers::compared)
        : numbers_(numbers), before_(Snapshot::take_settled(numbers)) {}
    /// What differs now; waits a moment for what the kernel does later (GIDs go by a work queue).
    [[nodiscard]] std::string difference() const;

private:
    Numbers numbers_;
    Snapshot before_;
};

} // namespace rdmanet::test
