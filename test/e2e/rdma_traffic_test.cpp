// Data between two pods, for each kind of attachment, with the programs that users have. The programs get the device
// and the GID index that `rdmanet inventory` shows for their pod.
#include "rdma_pods.hpp"

#include "support/concat.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace rdmanet::test {
namespace {

void exchange_data(const RdmaEnd& one, const RdmaEnd& other) {
    // -c: the receiver compares the data.
    CHECK(exchange(one, other, "ibv_rc_pingpong -n 20 -c") == "");
}

void use_all_programs(const RdmaEnd& one, const RdmaEnd& other) {
    exchange_data(one, other);
    CHECK(exchange(other, one, "ibv_rc_pingpong -n 20 -c -e -s 65536") == "");
    for (const std::string program : {"ib_write_bw", "ib_send_bw", "ib_read_lat"}) {
        INFO(program);
        CHECK(exchange(one, other, concat(program, " -F -n 20")) == "");
    }
    CHECK(rping(one, other) == "");
}

} // namespace

TEST_CASE("pods on macvlan children exchange data over their parent's RDMA device", "[traffic][rdma]") {
    between_pods(Carrier::macvlan, exchange_data);
}

TEST_CASE("pods on ipvlan children exchange data over their parent's RDMA device", "[traffic][rdma]") {
    between_pods(Carrier::ipvlan, exchange_data);
}

TEST_CASE("pods on VFs exchange data over their RDMA devices", "[traffic][sriov]") {
    between_pods(Carrier::vf, exchange_data);
}

TEST_CASE("pods on sub-functions exchange data over their RDMA devices", "[traffic][subfunction][rdma]") {
    between_pods(Carrier::subfunction, exchange_data);
}

TEST_CASE("pods on IPoIB children exchange data over their ports", "[traffic][ipoib]") {
    between_pods(Carrier::ipoib, exchange_data);
}

TEST_CASE("pods on InfiniBand VFs exchange data over their RDMA devices", "[traffic][infiniband]") {
    between_pods(Carrier::infiniband_vf, exchange_data);
}

TEST_CASE("all programs run between pods of each kind", "[.matrix]") {
    for (const Carrier carrier :
         {Carrier::macvlan, Carrier::ipvlan, Carrier::vf, Carrier::subfunction, Carrier::ipoib, Carrier::infiniband_vf})
        between_pods(carrier, use_all_programs);
}

} // namespace rdmanet::test
