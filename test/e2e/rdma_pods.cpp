#include "rdma_pods.hpp"

#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/infiniband_node.hpp"
#include "support/other_nic.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace rdmanet::test {
namespace {

using Use = std::function<void(const RdmaEnd&, const RdmaEnd&)>;

/// The call that attaches a pod: number 0 or 1.
using CallOf = std::function<PluginCall(const Pod&, unsigned)>;

/// Ends with DEL in any case, because other cases use the same machine.
class AttachedPod {
public:
    explicit AttachedPod(const PluginCall& call) : call_(call) { (void)add(call_); }
    AttachedPod(const AttachedPod&) = delete;
    AttachedPod& operator=(const AttachedPod&) = delete;
    ~AttachedPod() { CHECK(del(call_) == ""); }

private:
    PluginCall call_;
};

void use_two(const CallOf& call_of, const Use& use, Numbers numbers = Numbers::compared) {
    const Pod one("one");
    const Pod other("other");
    const UnchangedNode node(numbers);
    {
        const AttachedPod first(call_of(one, 0));
        const AttachedPod second(of(call_of(other, 1), "c2"));
        use(RdmaEnd(one), RdmaEnd(other));
    }
    CHECK(node.difference() == "");
}

void use_children(const std::string& kind, const Use& use) {
    NEEDS(kernel_has(kind) && !rdma_parent().empty(), "children and an RDMA parent");
    use_two(
        [&](const Pod& pod, unsigned /*number*/) {
            return call_for(
                pod, concat("'master':'", rdma_parent(), "','attach':'", kind, "','rdma':true,", ipam("10.43.0.0/24")));
        },
        use);
}

void use_vfs(const Use& use) {
    const Vfs vfs;
    use_two([&](const Pod& pod,
                unsigned number) { return vf_call(vfs, pod, number, concat("'rdma':true,", ipam("10.43.1.0/24"))); },
            use);
}

void use_subfunctions(const Use& use) {
    NEEDS(OtherNic::possible(), "a NIC with sub-functions");
    const OtherNic nic("nics=1 vfs=1 sfs=2");
    const VfNode mode("exclusive", 0);
    use_two(
        [](const Pod& pod, unsigned number) {
            return call_for(pod, concat("'attach':'host-device','deviceID':'simrnic.sf.", number, "','rdma':true,",
                                        ipam("10.43.2.0/24")));
        },
        use);
}

/// The second pod is on another card: packets cross the subnet.
void use_ipoib_children(const Use& use) {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandNode infiniband;
    use_two(
        [&](const Pod& pod, unsigned number) {
            return call_for(pod, concat("'attach':'ipoib','master':'", infiniband.parent(number),
                                        "','pkey':'0x8001','rdma':true,", ipam("10.43.3.0/24")));
        },
        use);
}

void use_infiniband_vfs(const Use& use) {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandNode infiniband("exclusive");
    infiniband.make_vfs(2);
    // The kernel makes the IPoIB interfaces anew when their RDMA device moves.
    use_two(
        [](const Pod& pod, unsigned number) {
            return call_for(pod, concat("'deviceID':'", InfinibandNode::vf(number),
                                        "','link_state':'enable','rdma':true,", ipam("10.43.4.0/24")));
        },
        use, Numbers::ignored);
}

} // namespace

void between_pods(Carrier carrier, const Use& use) {
    switch (carrier) {
    case Carrier::macvlan: return use_children("macvlan", use);
    case Carrier::ipvlan: return use_children("ipvlan", use);
    case Carrier::vf: return use_vfs(use);
    case Carrier::subfunction: return use_subfunctions(use);
    case Carrier::ipoib: return use_ipoib_children(use);
    case Carrier::infiniband_vf: return use_infiniband_vfs(use);
    }
}

} // namespace rdmanet::test
