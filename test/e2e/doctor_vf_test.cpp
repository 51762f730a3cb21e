// `rdmanet doctor`: who uses RDMA devices that pods should get, and how PFs administer their VFs.
#include "doctor_provocation.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/kernel_user.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

std::string bind_again(const VfNode& vfs) {
    return concat("for v in ", vfs.vf(0), ' ', vfs.vf(1),
                  "; do cd /sys/bus/pci/drivers/simrnic; echo $v >unbind; echo $v >bind; done");
}

} // namespace

TEST_CASE("the doctor finds RDMA devices that ADD would not take from their users", "[doctor][sriov][rdma]") {
    const Vfs vfs;
    std::set<std::string> tried;
    try_all({{"device-users",
              "a program uses a VF's RDMA device in mode exclusive",
              concat("ibv_rc_pingpong -d ", vfs.rdma(0), " >/dev/null 2>&1 &"),
              "pkill -x ibv_rc_pingpong",
              {vfs.vf(0), vfs.rdma(0), "(ibv_rc_pingpong)", "| stop it before a pod gets the device"}},
             {"device-users",
              "a kernel module uses a PF's RDMA device in mode exclusive",
              load_kernel_user(concat("queue_pairs=3 device=", rdma_device_of(vfs.pf()))),
              "rmmod simrnic_user",
              {vfs.pf(), "NVMe", "before a pod gets the device"}}},
            "", tried);
    const KernelUser user(concat("device=", vfs.rdma(1)));
    CHECK_THAT(found_by("device-users", ""),
               Contains("warning | ") && Contains(vfs.vf(1)) && Contains("(1 queue pair)"));
}

TEST_CASE("in mode shared no device moves, so its users do not matter", "[doctor][sriov][rdma]") {
    const Vfs vfs("shared");
    const KernelUser user(concat("device=", vfs.rdma(0)));
    CHECK_THAT(shell("rdma resource show qp"), Contains("[simrnic_user]"));
    CHECK(found_by("device-users", "") == "");
}

TEST_CASE("the doctor says that VFs of a PF in switchdev mode are set through representors", "[doctor][sriov]") {
    const Vfs vfs;
    const std::string set =
        concat("devlink dev eswitch set pci/$(basename $(readlink -f /sys/class/net/", vfs.pf(), "/device)) mode ");
    std::set<std::string> tried;
    try_all({{"eswitch",
              "`devlink dev eswitch set pci/0001:00:00.0 mode switchdev`",
              concat(set, "switchdev"),
              concat(set, "legacy"),
              {"representors", "bridge"}}},
            "", tried);
}

TEST_CASE("the doctor finds VFs that draw another MAC each time", "[doctor][sriov]") {
    const Vfs vfs;
    const std::string fault = debugfs(concat(vfs.pf(), "/vf_random_mac"));
    std::set<std::string> tried;
    try_all({{"vf-macs",
              "the driver of VFs without a MAC from their PF draws one",
              concat("echo Y >", fault, "; ", bind_again(vfs)),
              concat("echo N >", fault, "; ", bind_again(vfs)),
              {vfs.pf(), vfs.vf(0), concat("| `ip link set ", vfs.pf(), " vf 0 mac ...` for each VF")}}},
            "", tried);
    shell(concat("echo Y >", fault, "; ip link set ", vfs.pf(), " vf 0 mac 02:00:00:00:00:77; ", bind_again(vfs)));
    CHECK_THAT(found_by("vf-macs", ""), Names("1 VF", vfs.vf(1), "vf 1 mac"));
    shell(concat("ip link set ", vfs.netdev(1), " address 02:00:00:00:00:78")); // as udev would
    CHECK(found_by("vf-macs", "") == "");
    shell(concat("echo N >", fault));
}

} // namespace rdmanet::test
