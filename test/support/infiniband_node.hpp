// A node with InfiniBand cards.
#pragma once

#include "support/other_nic.hpp"

#include <string>
#include <vector>

namespace rdmanet::test {

/// InfiniBand cards with IPoIB on their ports, in the wanted RDMA mode. The interfaces' names depend on the order in
/// which the kernel made them. The mode is shared again at the end.
class InfinibandNode {
public:
    explicit InfinibandNode(const std::string& mode = "shared",
                            const std::string& nic = "nics=2 ports=1 vfs=2 link_layer=ib,ib");
    InfinibandNode(const InfinibandNode&) = delete;
    InfinibandNode& operator=(const InfinibandNode&) = delete;
    ~InfinibandNode();

    /// IPoIB interface of a card's port. It is up.
    [[nodiscard]] const std::string& parent(unsigned number) const { return parents_.at(number); }
    /// PCI address of the first card's VF. netdev() is its IPoIB interface.
    [[nodiscard]] static std::string vf(unsigned number);
    [[nodiscard]] static std::string netdev(const std::string& address);
    void make_vfs(unsigned number) const;

private:
    OtherNic nic_;
    std::vector<std::string> parents_;
};

} // namespace rdmanet::test
