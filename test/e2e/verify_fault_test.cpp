// `rdmanet verify`: what keeps pods from RDMA is named.
#include "background_program.hpp"
#include "documented.hpp"
#include "verify_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace rdmanet::test {

using Catch::Contains;

namespace {

/// Of 10.71.0.1, with RoCE v2, which comes last.
void wait_for_gid(const Pod& pod) {
    wait_until(concat("ip netns exec ", pod.name(),
                      " sh -c '[ $(cat /sys/class/infiniband/*/ports/1/gids/* | grep -c ffff:0a47:0001) = 2 ]'"));
}

} // namespace

TEST_CASE("what keeps RDMA from working is named before the first packet", "[verify][sriov]") {
    const VfPair pair;
    const auto between = [&](const std::string& begin, const std::string& end, const auto& ask) {
        shell(begin);
        const std::string found = ask("shop/till shop/desk");
        shell(end);
        return found;
    };
    CHECK_THAT(between("ip -n till link set net1 down", "ip -n till link set net1 up", faults),
               Names("failure interface", "net1", "is down", "`ip link set net1 up`", "2"));
    wait_until("ip -n till link show net1 | grep -q LOWER_UP");
    CHECK_THAT(between("ip -n till link set net1 down; ip -n till link set net1 name 'n;1'",
                       "ip -n till link set 'n;1' name net1; ip -n till link set net1 up", faults),
               Names("failure interface", "`ip link set 'n;1' up`"));
    wait_until("ip -n till link show net1 | grep -q LOWER_UP");
    CHECK_THAT(between(concat("ip link set ", pair.vfs.pf(), " vf 1 state disable"),
                       concat("ip link set ", pair.vfs.pf(), " vf 1 state auto"), faults),
               Names("failure interface", "net1", "no carrier", "cable"));
    wait_until("ip -n desk link show net1 | grep -q LOWER_UP");
    // A full table has no place for the address, which gets none later either.
    CHECK_THAT(
        between("ip -n till addr del 10.71.0.1/24 dev net1; "
                "for i in $(seq 1 127); do ip -n till addr add 10.74.0.$i/24 dev net1; done; "
                "ip -n till addr add 10.71.0.1/24 brd + dev net1; ip -n till addr flush dev net1 to 10.74.0.0/24",
                "ip -n till addr del 10.71.0.1/24 dev net1; ip -n till addr add 10.71.0.1/24 brd + dev net1", verify),
        Contains(read_markdown("docs/verify.md").blocks.at(1).text) && Catch::EndsWith("\n2\n"));
    wait_for_gid(pair.till);
    CHECK_THAT(between("mv /dev/infiniband /dev/away", "mv /dev/away /dev/infiniband", faults),
               Names("failure device-file", "/dev/infiniband/uverbs...", "`modprobe ib_uverbs`"));
    CHECK_THAT(between("ip -n till link add way type dummy; ip -n till link set way up; "
                       "ip -n till route add 10.71.0.2/32 dev way",
                       "ip -n till link del way", faults),
               Names("warning route", "10.71.0.2", "leave by way", "net1", "1"));
    {
        const PodProgram tenant("till", "unshare -m sh -c 'mount -t tmpfs none /dev/infiniband; exec sleep 1000'");
        tenant.wait_until_called("sleep");
        CHECK_THAT(faults("shop/till shop/desk"), Names("warning pod-device-files", "/dev/infiniband/uverbs...", "1"));
    }
    CHECK(faults("shop/till shop/desk") == "0\n");
    CHECK(pair.end() == "");
}

TEST_CASE("what keeps packets from the other pod is named", "[verify][sriov]") {
    const VfPair pair;
    const std::string lose = concat("/sys/kernel/debug/simrnic/", pair.vfs.pf(), "/rdma_lose_every");
    shell(concat("echo 1 >", lose));
    CHECK_THAT(faults("shop/till shop/desk"), Names("failure ping", "no packet", "VLAN", "2"));
    shell(concat("echo 0 >", lose));
    // Both have it: the neighbours of each are wrong.
    shell("ip -n desk addr flush dev net1 scope global; ip -n desk addr add 10.71.0.1/24 dev net1");
    wait_for_gid(pair.desk);
    CHECK_THAT(faults("shop/till shop/desk"), Names("the same address 10.71.0.1", "shop/till net1", "shop/desk net1"));
    shell("ip -n desk addr flush dev net1 scope global; ip -n desk addr add 10.71.0.2/24 brd + dev net1");
    CHECK(pair.end() == "");
}

TEST_CASE("a lost packet is blamed on the route that a warning names", "[verify][sriov]") {
    const VfPair pair;
    const std::string lose = concat("/sys/kernel/debug/simrnic/", pair.vfs.pf(), "/rdma_lose_every");
    shell(concat("echo 1 >", lose,
                 "; ip -n till link add way type dummy; ip -n till link set way up; "
                 "ip -n till route add 10.71.0.2/32 dev way"));
    CHECK_THAT(faults("shop/till shop/desk"),
               Names("warning route", "failure ping", "no packet",
                     "first mend what the warning route of shop/till net1 says: add a route", "2") &&
                   !Contains("VLAN"));
    shell(concat("ip -n till link del way; echo 0 >", lose));
    CHECK(faults("shop/till shop/desk") == "0\n");
    CHECK(pair.end() == "");
}

TEST_CASE("a pod that has lost its address is named, and what it lost", "[verify][sriov]") {
    const VfPair pair;
    shell("ip -n till addr del 10.71.0.1/24 dev net1");
    const std::string found = faults("shop/till shop/desk");
    CHECK_THAT(found, Names("warning addresses: net1 has lost 10.71.0.1, which rdmanet gave it", "delete the pod",
                            "failure peer: shop/till net1 has no GID of an IPv4 address, only of fe80:...",
                            "shop/desk net1 has one of 10.71.0.2", "delete the pod shop/till", "2"));
    // Whichever end it is.
    CHECK_THAT(faults("shop/desk shop/till"), Names("failure peer: shop/till net1 has no GID of an IPv4 address"));
    shell("ip -n till addr flush dev net1");
    CHECK_THAT(faults("shop/till"), Names("failure addresses: net1 has lost 10.71.0.1", "delete the pod", "2"));
    // The packets' MTU is not known yet.
    CHECK(values("shop/till", ".here.mtu") == "0\n");
    CHECK(pair.end() == "");
}

} // namespace rdmanet::test
