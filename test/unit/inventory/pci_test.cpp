// PCI functions and their devlink parameters.
#include "nic_settings.hpp"

#include "support/directory.hpp"

#include <rdmanet/inventory/pci.hpp>

#include <catch2/catch.hpp>

#include <map>
#include <string>

namespace rdmanet::inventory {
namespace {

using kernel::DevlinkMode;
using kernel::DevlinkSwitch;

/// A sysfs with PCI functions, as a directory.
struct FakeSysfs : test::Directory {
    FakeSysfs() { make("bus/pci/devices"); }
    /// `above` is the path from "devices" to the device: "pci0000:3a/0000:3a:00.0".
    void add(const std::string& address, const std::string& above, const std::map<std::string, std::string>& files) {
        const std::string device = "devices/" + above + '/' + address;
        link("bus/pci/devices/" + address, "../../../" + device);
        for (const auto& [name, content] : files) write(device + '/' + name, content + '\n');
    }
    void point(const std::string& address, const std::string& name, const std::string& target) {
        link("bus/pci/devices/" + address + '/' + name, target);
    }
};

const std::string kPath = "pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:04.0";

/// A NIC with a VF and a GPU behind one switch, a GPU elsewhere, and a management controller with a display.
void furnish(FakeSysfs& sysfs) {
    sysfs.add("0000:3d:00.0", kPath,
              {{"class", "0x020700"},
               {"vendor", "0x15b3"},
               {"device", "0x1021"},
               {"numa_node", "0"},
               {"current_link_speed", "16.0 GT/s PCIe"},
               {"max_link_speed", "32.0 GT/s PCIe"},
               {"current_link_width", "8"},
               {"max_link_width", "16"},
               {"sriov_numvfs", "1"},
               {"sriov_totalvfs", "16"}});
    sysfs.point("0000:3d:00.0", "driver", "../../../bus/pci/drivers/mlx5_core");
    sysfs.add("0000:3d:00.1", kPath,
              {{"class", "0x020700"}, {"vendor", "0x15b3"}, {"device", "0x101e"}, {"numa_node", "-1"}});
    sysfs.point("0000:3d:00.1", "physfn", "../0000:3d:00.0");
    sysfs.point("0000:3d:00.0", "virtfn0", "../0000:3d:00.1");
    const std::map<std::string, std::string> gpu{
        {"class", "0x030200"}, {"vendor", "0x10de"}, {"device", "0x2330"}, {"max_link_width", "16"}};
    sysfs.add("0000:3e:00.0", "pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:08.0", gpu);
    sysfs.add("0000:5e:00.0", "pci0000:5a/0000:5a:00.0/0000:5b:00.0/0000:5c:08.0", gpu);
    sysfs.add("0000:02:00.0", "pci0000:00/0000:00:1c.0/0000:01:00.0", {{"class", "0x030000"}, {"max_link_width", "1"}});
    sysfs.add("0000:00:1f.0", "pci0000:00", {{"class", "0x060100"}});
}

TEST_CASE("network functions and accelerators are read from sysfs") {
    FakeSysfs sysfs;
    furnish(sysfs);
    const auto found = list_pci_functions(sysfs.path());
    REQUIRE(found.size() == 4);
    const PciFunction& pf = found[0];
    CHECK(pf.address.to_string() == "0000:3d:00.0");
    CHECK(pf.is_network());
    CHECK(pf.id_text() == "15b3:1021");
    CHECK(pf.driver == "mlx5_core");
    CHECK(pf.numa_node == 0);
    CHECK(pf.link_speed == "16.0 GT/s PCIe");
    CHECK(pf.most_link_speed == "32.0 GT/s PCIe");
    CHECK(pf.link_width == 8);
    CHECK(pf.most_link_width == 16);
    CHECK(pf.path == std::vector<std::string>{"pci0000:3a", "0000:3a:00.0", "0000:3b:00.0", "0000:3c:04.0"});
    CHECK(pf.vfs == 1);
    CHECK(pf.most_vfs == 16);
    CHECK_FALSE(pf.pf);
    const PciFunction& vf = found[1];
    CHECK(vf.pf == pf.address);
    CHECK(vf.vf_number == 0);
    CHECK(vf.driver.empty());
    CHECK_FALSE(vf.numa_node);
    CHECK(found[2].is_accelerator());
    CHECK_FALSE(found[2].is_network());
    // A switch connects what is below its upstream port.
    CHECK(share_switch(found[0], found[2]));
    CHECK(share_switch(found[1], found[2]));
    CHECK_FALSE(share_switch(found[0], found[3]));
    PciFunction beside = found[0];
    beside.path = {"pci0000:3a", "0000:3a:00.0"}; // directly at a root port
    CHECK_FALSE(share_switch(beside, found[2]));
    CHECK(list_pci_functions("/nonexistent").empty());
}

constexpr DevlinkSwitch kOn{.is_on = true, .mode = DevlinkMode::runtime};
constexpr DevlinkSwitch kOff{.is_on = false, .mode = DevlinkMode::driverinit};

/// The parameter that is to blame; empty if none is.
std::string blamed(const RdmaSwitches& switches) {
    const auto off = find_switched_off(switches);
    if (!off) return "";
    CHECK(off->mode == DevlinkMode::driverinit);
    return off->parameter;
}

TEST_CASE("a function without RDMA has the parameter to blame that is off") {
    CHECK(blamed({}) == "");
    CHECK(blamed({.roce = kOff}) == "enable_roce");
    CHECK(blamed({.roce = kOn}) == "");
    CHECK(blamed({.iwarp = kOff}) == "enable_iwarp");
    CHECK(blamed({.rdma = kOff, .roce = kOn}) == "enable_rdma");
    CHECK(blamed({.rdma = kOn, .roce = kOff}) == "enable_roce");
    CHECK(blamed({.rdma = kOn}) == "");
    // Of two protocols one is off.
    CHECK(blamed({.roce = kOff, .iwarp = kOn}) == "");
    CHECK(blamed({.roce = kOn, .iwarp = kOff}) == "");
    CHECK(blamed({.roce = kOff, .iwarp = kOff}) == "enable_roce");
}

} // namespace
} // namespace rdmanet::inventory
