// `rdmanet doctor`: settings of NICs, set with the tools that administrators use, on the real kernel.
#include "doctor_provocation.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/other_nic.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::test {

using Catch::Contains;

namespace {

std::string address_of(const std::string& interface) {
    return shell(concat("echo -n $(basename $(readlink -f /sys/class/net/", interface, "/device))"));
}

std::string enable_roce(const std::string& address, const std::string& value) {
    return concat("devlink dev param set pci/", address, " name enable_roce value ", value,
                  " cmode driverinit && devlink dev reload pci/", address);
}

/// A node whose ports have PFC and one MTU, with two VFs on the host.
struct QuietNode {
    Vfs vfs;
    std::string other = rdma_parent(1);

    QuietNode() {
        shell(concat("for i in ", vfs.pf(), ' ', other,
                     "; do ip link set $i mtu 4200 up; dcb pfc set dev $i prio-pfc 3:on; done; ip link set ",
                     vfs.netdev(0), " mtu 4200; ip link set ", vfs.netdev(1), " mtu 4200"));
    }
    QuietNode(const QuietNode&) = delete;
    QuietNode& operator=(const QuietNode&) = delete;
    ~QuietNode() {
        (void)shell(concat("for i in ", vfs.pf(), ' ', other,
                           "; do ip link set $i mtu 1500; dcb pfc set dev $i prio-pfc 3:off; done"));
    }

    /// Runs a driver's file "bind" or "unbind" for the second VF.
    [[nodiscard]] std::string drive(const std::string& file) const {
        return concat("echo ", vfs.vf(1), " >/sys/bus/pci/drivers/simrnic/", file);
    }
};

/// Until the end of the scope, the kernel's requests for modules are only written down.
class RequestedModules {
public:
    RequestedModules() {
        shell("printf '#!/bin/sh\\necho \"$@\" >>/tmp/requested\\n' >/tmp/modprobe; chmod 755 /tmp/modprobe; "
              "echo /tmp/modprobe >/proc/sys/kernel/modprobe; >/tmp/requested");
    }
    RequestedModules(const RequestedModules&) = delete;
    RequestedModules& operator=(const RequestedModules&) = delete;
    ~RequestedModules() { (void)shell(concat("echo ", before_, " >/proc/sys/kernel/modprobe")); }

    [[nodiscard]] static std::string list() { return shell("cat /tmp/requested"); }

private:
    std::string before_ = shell("tr -d '\\n' </proc/sys/kernel/modprobe");
};

} // namespace

TEST_CASE("doctor and inventory make the kernel load no module", "[doctor][sriov]") {
    NEEDS_VFS();
    NEEDS(!rdma_parent(1).empty(), "a second RDMA parent");
    const QuietNode node;
    const std::string address = address_of(node.other);
    shell(enable_roce(address, "false")); // so that the doctor asks devlink
    shell("modprobe -r rdma_ucm ib_umad");
    {
        const RequestedModules requested;
        CHECK_THAT(doctor("-o wide"), Contains("enable_roce is false"));
        (void)shell(concat(binary(), " inventory -o wide"));
        CHECK(RequestedModules::list() == "");
        shell("! genl ctrl get name no_such_family >/dev/null 2>&1");
        CHECK_THAT(RequestedModules::list(), Contains("family-no_such_family")); // so the list works
    }
    shell(concat("modprobe rdma_ucm; modprobe ib_umad; ", enable_roce(address, "true")));
}

TEST_CASE("the doctor finds functions and VFs that no pod can have", "[doctor][sriov]") {
    NEEDS_VFS();
    NEEDS(!rdma_parent(1).empty(), "a second RDMA parent");
    const QuietNode node;
    const std::string address = address_of(node.other);
    const std::string pf = address_of(node.vfs.pf());
    const std::string autoprobe = concat("/sys/bus/pci/devices/", pf, "/sriov_drivers_autoprobe");
    const std::string count = concat("/sys/bus/pci/devices/", pf, "/sriov_numvfs");
    const std::string delay = debugfs(concat(node.vfs.pf(), "/vf_devices_delay_ms"));
    std::set<std::string> tried;
    try_all(
        {{"enable-roce",
          "devlink's parameter `enable_roce` is false",
          enable_roce(address, "false"),
          enable_roce(address, "true"),
          {"info", address,
           concat("`devlink dev param set pci/", address, " name enable_roce value true cmode driverinit`, then "),
           concat("`devlink dev reload pci/", address, '`')}},
         {"vfs",
          "VFs are created with `sriov_drivers_autoprobe` 0",
          concat("echo 0 >", autoprobe, "; echo 0 >", count, "; echo 2 >", count),
          concat("echo 1 >", autoprobe, "; for v in ", node.vfs.vf(0), ' ', node.vfs.vf(1),
                 "; do echo $v >/sys/bus/pci/drivers_probe; done"),
          {"info", pf, "2 VFs without a driver", node.vfs.vf(0), concat("`echo 1 >", autoprobe, "`, then "),
           "/sys/bus/pci/drivers_probe`"}},
         {"vfs",
          "a VF is unbound from its driver",
          node.drive("unbind"),
          concat("echo ", node.vfs.vf(1), " >/sys/bus/pci/drivers_probe"),
          {pf, "1 VF without a driver", concat("| `echo ", node.vfs.vf(1), " >/sys/bus/pci/drivers_probe`")}},
         {"lost-vf",
          "a VF's driver makes no devices",
          concat(node.drive("unbind"), "; echo 600000 >", delay, "; ", node.drive("bind")),
          concat(node.drive("unbind"), "; echo 0 >", delay, "; ", node.drive("bind")),
          {pf, node.vfs.vf(1), "driver simrnic", concat("`dmesg | grep ", node.vfs.vf(1), '`'), ">unbind", ">bind"}}},
        "", tried);
    CHECK(tried.size() == 3);
}

TEST_CASE("the doctor says which VFs are for programs in user space", "[doctor][sriov][vfio]") {
    NEEDS(OtherNic::possible(), "a VF with driver vfio-pci");
    const OtherNic nic("nics=1 vfs=2 vfio_pci=1");
    const Vfs vfs;
    const std::string bind = concat("cd /sys/bus/pci && echo ", vfs.vf(0), " >devices/", vfs.vf(0),
                                    "/driver/unbind && echo $driver >devices/", vfs.vf(0), "/driver_override && echo ",
                                    vfs.vf(0), " >drivers_probe");
    std::set<std::string> tried;
    try_all({{"vfs",
              "a VF is bound to vfio-pci",
              concat("driver=vfio-pci; ", bind),
              concat("driver=; ", bind),
              {vfs.vf(0), "1 VF with vfio-pci", "neither interface nor RDMA device"}}},
            "", tried);
    shell(concat("driver=vfio-pci; ", bind));
    CHECK(found_by("lost-vf", "") == "");
}

TEST_CASE("the doctor finds settings of ports that are bad for RoCE", "[doctor][sriov]") {
    NEEDS_VFS();
    NEEDS(!rdma_parent(1).empty(), "a second RDMA parent");
    const QuietNode node;
    const std::string rdma = rdma_device_of(node.other);
    const std::string configfs = concat("/sys/kernel/config/rdma_cm/", rdma);
    const std::string mode = concat(configfs, "/ports/1/default_roce_mode");
    shell("mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config");
    std::set<std::string> tried;
    try_all({{"default-roce",
              "configfs sets RoCE v1 for RDMA CM",
              concat("mkdir ", configfs, " && echo 'IB/RoCE v1' >", mode),
              concat("echo 'RoCE v2' >", mode, " && rmdir ", configfs),
              {rdma, concat("`echo 'RoCE v2' >", mode, '`')}},
             {"vf-mtu",
              "`ip link set rnic0p0v1 mtu 9000`",
              concat("ip link set ", node.vfs.netdev(1), " mtu 9000"),
              concat("ip link set ", node.vfs.netdev(1), " mtu 4200"),
              {"1 interface", node.vfs.netdev(1), concat("`ip link set ", node.vfs.pf(), " mtu 9000`")}},
             {"vf-mtu",
              "`ip link set rnic0p0v1 mtu 1500`",
              concat("ip link set ", node.vfs.netdev(1), " mtu 1500"),
              concat("ip link set ", node.vfs.netdev(1), " mtu 4200"),
              {"1 interface", node.vfs.netdev(1), "\"mtu\": 4200"}},
             {"pfc",
              "`dcb pfc set dev rnic1p0 prio-pfc all:off`",
              concat("dcb pfc set dev ", node.other, " prio-pfc all:off"),
              concat("dcb pfc set dev ", node.other, " prio-pfc 3:on"),
              {node.other, concat("`dcb pfc set dev ", node.other, " prio-pfc 3:on`")}},
             {"pause",
              "`ethtool -A rnic1p0 rx on`",
              concat("ethtool -A ", node.other, " rx on"),
              concat("ethtool -A ", node.other, " rx off"),
              {node.other, concat("`ethtool -A ", node.other, " autoneg off rx off tx off`")}}},
            "", tried);
    CHECK(tried.size() == 4);
    shell(concat("ip link set ", node.other, " down; dcb pfc set dev ", node.other, " prio-pfc all:off"));
    CHECK(found_by("pfc", "") == ""); // nobody uses the port
    shell(concat("ip link set ", node.other, " up"));
    CHECK(found_by("pfc", "") != "");
}

} // namespace rdmanet::test
