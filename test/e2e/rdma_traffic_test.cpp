// Data between two pods, for each kind of attachment, with the programs that users have. The programs get the device
// and the GID index that `rdmanet inventory` shows for their pod.
#include "rdma_programs.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/infiniband_node.hpp"
#include "support/other_nic.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <string>

namespace rdmanet::test {

namespace {

/// The call that attaches a pod: number 0 or 1.
using CallOf = std::function<PluginCall(const Pod&, unsigned)>;

void exchange_all(const RdmaEnd& one, const RdmaEnd& other, bool matrix) {
    // -c: the receiver compares the data.
    CHECK(exchange(one, other, "ibv_rc_pingpong -n 20 -c") == "");
    if (!matrix) return;
    CHECK(exchange(other, one, "ibv_rc_pingpong -n 20 -c -e -s 65536") == "");
    for (const std::string program : {"ib_write_bw", "ib_send_bw", "ib_read_lat"}) {
        INFO(program);
        CHECK(exchange(one, other, concat(program, " -F -n 20")) == "");
    }
    CHECK(rping(one, other) == "");
}

/// Attaches two pods, exchanges data between them, detaches them. In the matrix with all programs.
void exchange_between_two(const CallOf& call_of, bool matrix, Numbers numbers = Numbers::compared) {
    const Pod one("one");
    const Pod other("other");
    const UnchangedNode node(numbers);
    const PluginCall first = call_of(one, 0);
    const PluginCall second = of(call_of(other, 1), "c2");
    (void)add(first);
    (void)add(second);
    exchange_all(RdmaEnd(one), RdmaEnd(other), matrix);
    CHECK(del(first) == "");
    CHECK(del(second) == "");
    CHECK(node.difference() == "");
}

CallOf child_of(const std::string& parent, const std::string& kind) {
    return [=](const Pod& pod, unsigned /*number*/) {
        return call_for(pod,
                        concat("'master':'", parent, "','attach':'", kind, "','rdma':true,", ipam("10.43.0.0/24")));
    };
}

void between_children(const std::string& kind, bool matrix) {
    NEEDS(kernel_has(kind) && !rdma_parent().empty(), "children and an RDMA parent");
    exchange_between_two(child_of(rdma_parent(), kind), matrix);
}

void between_vfs(bool matrix) {
    NEEDS_VFS();
    const VfNode vfs;
    exchange_between_two(
        [&](const Pod& pod, unsigned number) {
            return vf_call(vfs, pod, number, concat("'rdma':true,", ipam("10.43.1.0/24")));
        },
        matrix);
}

void between_subfunctions(bool matrix) {
    NEEDS(OtherNic::possible(), "a NIC with sub-functions");
    const OtherNic nic("nics=1 vfs=1 sfs=2");
    const VfNode mode("exclusive", 0);
    exchange_between_two(
        [](const Pod& pod, unsigned number) {
            return call_for(pod, concat("'attach':'host-device','deviceID':'simrnic.sf.", number, "','rdma':true,",
                                        ipam("10.43.2.0/24")));
        },
        matrix);
}

/// The second pod is on another card: packets cross the subnet.
void between_ipoib_children(bool matrix) {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandNode infiniband;
    exchange_between_two(
        [&](const Pod& pod, unsigned number) {
            return call_for(pod, concat("'attach':'ipoib','master':'", infiniband.parent(number),
                                        "','pkey':'0x8001','rdma':true,", ipam("10.43.3.0/24")));
        },
        matrix);
}

void between_infiniband_vfs(bool matrix) {
    NEEDS(OtherNic::possible(), "an InfiniBand card");
    const InfinibandNode infiniband("exclusive");
    infiniband.make_vfs(2);
    // The kernel makes the IPoIB interfaces anew when their RDMA device moves.
    exchange_between_two(
        [](const Pod& pod, unsigned number) {
            return call_for(pod, concat("'deviceID':'", InfinibandNode::vf(number),
                                        "','link_state':'enable','rdma':true,", ipam("10.43.4.0/24")));
        },
        matrix, Numbers::ignored);
}

} // namespace

TEST_CASE("pods on macvlan children exchange data over their parent's RDMA device", "[traffic][rdma]") {
    between_children("macvlan", false);
}

TEST_CASE("pods on ipvlan children exchange data over their parent's RDMA device", "[traffic][rdma]") {
    between_children("ipvlan", false);
}

TEST_CASE("pods on VFs exchange data over their RDMA devices", "[traffic][sriov]") {
    between_vfs(false);
}

TEST_CASE("pods on sub-functions exchange data over their RDMA devices", "[traffic][subfunction][rdma]") {
    between_subfunctions(false);
}

TEST_CASE("pods on IPoIB children exchange data over their ports", "[traffic][ipoib]") {
    between_ipoib_children(false);
}

TEST_CASE("pods on InfiniBand VFs exchange data over their RDMA devices", "[traffic][infiniband]") {
    between_infiniband_vfs(false);
}

TEST_CASE("all programs between pods on macvlan children", "[.matrix]") {
    between_children("macvlan", true);
}

TEST_CASE("all programs between pods on ipvlan children", "[.matrix]") {
    between_children("ipvlan", true);
}

TEST_CASE("all programs between pods on VFs", "[.matrix]") {
    between_vfs(true);
}

TEST_CASE("all programs between pods on sub-functions", "[.matrix]") {
    between_subfunctions(true);
}

TEST_CASE("all programs between pods on IPoIB children", "[.matrix]") {
    between_ipoib_children(true);
}

TEST_CASE("all programs between pods on InfiniBand VFs", "[.matrix]") {
    between_infiniband_vfs(true);
}

} // namespace rdmanet::test
