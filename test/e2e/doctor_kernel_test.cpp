// `rdmanet doctor`: what the kernel offers, its modules, and VFs that are not there.
#include "doctor_provocation.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <set>
#include <string>

namespace rdmanet::test {
namespace {

std::string bus_address_of(const std::string& interface) {
    return shell(concat("echo -n $(basename $(readlink -f /sys/class/net/", interface, "/device))"));
}

std::string file_of_module(const std::string& module) {
    return shell(concat("echo -n $(modinfo -n ", module, ")"));
}

} // namespace

TEST_CASE("the doctor sees what ib_core was loaded without", "[doctor][sriov]") {
    const Vfs vfs("shared");
    CHECK(found_by("kernel-version", "") == "");
    CHECK(found_by("copy-on-fork", "") == "");
    CHECK(shell(concat("{ ", binary(),
                       " doctor --json || true; } | jq '[.checks[] | select(.check==\"kernel-version\" "
                       "or .check==\"copy-on-fork\").lookedAt] | all'")) == "true\n");
    const std::string file = "/etc/modprobe.d/ib_core.conf";
    std::set<std::string> tried;
    try_all({{"mode-at-boot",
              "netns_mode=0 in a file older than the boot, and mode shared",
              concat("echo 'options ib_core netns_mode=0' >", file,
                     "; sed 's/^btime .*/btime 9999999999/' /proc/stat >/tmp/stat; mount --bind /tmp/stat /proc/stat"),
              concat("umount /proc/stat; rm ", file),
              {file, "initramfs", "then reboot"}}},
            "", tried);
}

TEST_CASE("the doctor compares modules that run with their files", "[doctor][sriov]") {
    const Vfs vfs("shared");
    const std::string file = file_of_module("rdma_cm");
    NEEDS(file.ends_with(".ko"), "files of modules that are not compressed");
    std::set<std::string> tried;
    try_all({{"stale-modules",
              "the file of a module that runs is replaced",
              concat("mount --bind ", file_of_module("ib_uverbs"), ' ', file),
              concat("umount ", file),
              {"the file of rdma_cm", "reboot"}}},
            "", tried);

    const std::string index = shell("echo -n /lib/modules/$(uname -r)/modules.dep");
    CHECK(found_by("child-modules", "") == "");
    shell(concat("rmmod ipvtap ipvlan 2>/dev/null || true; grep -v ^kernel/drivers/net/ipvlan/ ", index,
                 " >/tmp/modules.dep; mount --bind /tmp/modules.dep ", index));
    CHECK_THAT(found_by("child-modules", ""), Names("info", "no module ipvlan", shell("echo -n $(uname -r)")));
    shell(concat("umount ", index, "; modprobe ipvlan"));
    CHECK(found_by("child-modules", "") == "");
}

TEST_CASE("the doctor misses VFs in mode exclusive", "[doctor][sriov]") {
    const Vfs vfs;
    const std::string address = bus_address_of(vfs.pf());
    const std::string file = concat("/sys/bus/pci/devices/", address, "/sriov_numvfs");
    std::set<std::string> tried;
    try_all(
        {{"vf-count",
          "`echo 0 >sriov_numvfs` for the only PF with VFs",
          concat("echo 0 >", file),
          concat("echo 2 >", file),
          {address, "mode is exclusive", concat("`echo N >", file, "`"), "up to 8"}},
         {"vf-room",
          "the BIOS leaves no room for VFs",
          concat("echo 0 >", file, "; echo 'simrnic ", address, ": not enough MMIO resources for SR-IOV' >/dev/kmsg"),
          concat("echo 2 >", file),
          {concat("warning | ", address, " | "), "pci=realloc"}}},
        "", tried);
    shell("dmesg --clear");
}

TEST_CASE("the doctor finds the priority of a DSCP as `dcb app` has set it", "[doctor][sriov]") {
    const Vfs vfs("shared");
    const std::string parent = rdma_parent(1);
    NEEDS(!parent.empty(), "a second RDMA parent");
    // As a driver of OFED would show it, in a layer over the device's directory. An absolute path would have colons.
    const std::string device = rdma_device_of(parent);
    shell(concat("mkdir -p /tmp/ofed/tc/1 && echo 'Global tclass=106' >/tmp/ofed/tc/1/traffic_class && "
                 "cd /sys/class/infiniband && mount -t overlay -o lowerdir=/tmp/ofed:",
                 device, " none ", device, " && ip link set ", parent, " up && dcb pfc set dev ", parent,
                 " prio-pfc 3:on"));
    std::set<std::string> tried;
    try_all({{"traffic-class",
              "OFED's file `tc/1/traffic_class` is 106",
              concat("dcb app add dev ", parent, " dscp-prio 26:4"),
              concat("dcb app del dev ", parent, " dscp-prio 26:4"),
              {parent, "DSCP 26 and priority 4", concat("`dcb pfc set dev ", parent, " prio-pfc 4:on`")}}},
            "", tried);
    shell(concat("umount /sys/class/infiniband/", device, "; dcb pfc set dev ", parent, " prio-pfc 3:off"));
}

TEST_CASE("the doctor waits for the end of failures, and reports the last look", "[doctor][sriov]") {
    const Vfs vfs("shared");
    const std::string parent = rdma_parent(1);
    NEEDS(!parent.empty(), "a second RDMA parent");
    const std::string cable = debugfs(concat(parent, "/cable"));
    const auto status_of = [](const std::string& options) {
        return shell(
            concat("timeout 300 ", binary(), " doctor ", options, " >/tmp/report 2>/tmp/progress; echo -n $?"));
    };
    CHECK(status_of("--wait 0") == "3");
    CHECK(status_of("--wait 601") == "3");
    shell(concat("ip link set ", parent, " up"));
    wait_until(concat("ip link show ", parent, " | grep -q LOWER_UP"));
    CHECK(status_of("--wait 600") == "1"); // not 124: warnings are not waited for

    shell(concat("echo 0 >", cable));
    wait_until(concat("ip link show ", parent, " | grep -q NO-CARRIER"));
    CHECK(status_of("--wait 1") == "2");
    CHECK(shell("cat /tmp/progress") == ""); // which is a file
    CHECK_THAT(shell("cat /tmp/report"), Names("failure port-state", parent));

    const auto wait_while = [&](const std::string& check, const std::string& end) {
        INFO(check);
        shell(concat(
            "rm -f /tmp/status; { script -qefc '", binary(),
            " doctor --wait 300 >/tmp/report' /tmp/terminal; echo -n $? >/tmp/status; } >/dev/null 2>&1 </dev/null &"));
        wait_until(concat("grep -q 'waiting until this ends: ", check, " .*", parent, "' /tmp/terminal"));
        shell(concat("[ ! -e /tmp/status ] && ", end));
        wait_until("[ -s /tmp/status ]");
        CHECK(shell("cat /tmp/status") == "1");
        CHECK_THAT(shell("cat /tmp/report"), Catch::Contains("0 failures") && !Catch::Contains(check));
    };
    wait_while("port-state", concat("echo 1 >", cable));
    shell(concat("ip link set ", parent, " down"));
    wait_while("parent-up", concat("ip link set ", parent, " up"));
}

} // namespace rdmanet::test
