// What a pod's images have: providers of libibverbs, and files of management.
#include "machine.hpp"

#include "support/reporter.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <string>

namespace rdmanet::doctor {
namespace {

/// A machine with an InfiniBand card that a process of pod "shop/till" shares. The process's image has libibverbs.
class ImageMachine : public Machine {
public:
    ImageMachine() {
        asked_pod = "shop/till";
        inventory.namespaces.front().path = "/proc/self/ns/net";
        inventory.namespaces.push_back(
            {.inode = 2, .path = "/nowhere", .pod = {.pod_namespace = "shop", .name = "till"}});
        auto& rdma = inventory.devices.front().rdma.front();
        rdma.ports.push_back(active_port("ib0"));
        rdma.ports.front().link_layer = "InfiniBand";
        rdma.files = {"umad0"};
        inventory::Interface net1{.net = host_interface("net1", 2044)};
        net1.net.place = 1;
        net1.rdma_device = "no-such-device";
        net1.is_shared = true;
        inventory.interfaces.push_back(std::move(net1));
        make("proc/7/ns");
        write("proc/7/comm", "tenant");
        fs::create_symlink("net:[2]", this->root() + "/proc/7/ns/net");
        make(in_image("7", "/usr/lib64/libibverbs"));
        make(in_image("7", "/etc/libibverbs.d"));
        write(in_image("7", "/usr/lib64/libibverbs.so.1"), "");
    }

    /// An empty file of the image.
    void add(const std::string& path) const { write("proc/7/root" + path, ""); }
    void remove_from_image(const std::string& path) const { remove(in_image("7", path)); }
    [[nodiscard]] std::string says() const { return found_by("pod-provider"); }
};

} // namespace

TEST_CASE("libibverbs finds providers in all places of an image from which it loads them") {
    const ImageMachine node;
    CHECK_THAT(node.says(), Has("failure | shop/till net1 | ", "libibverbs without a provider"));
    CHECK(node.why_not("pod-provider").empty());
    for (const char* provider : {"/usr/lib64/libibverbs/libmlx5-rdmav34.so", "/usr/lib64/libmlx5-rdmav34.so",
                                 "/usr/lib64/libmlx5-rdmav2.so"}) {
        INFO(provider);
        node.add(provider);
        CHECK(node.says().empty());
        node.remove_from_image(provider);
        CHECK(!node.says().empty());
    }
    for (const char* other : {"/usr/lib64/libibverbs/README", "/usr/lib64/libmlx5.so.1"}) node.add(other);
    CHECK(!node.says().empty());
}

TEST_CASE("a provider that is named by its path is not looked for") {
    const ImageMachine node;
    const auto says_with = [&](const std::string& line) {
        node.write(ImageMachine::in_image("7", "/etc/libibverbs.d/mlx5.driver"), "\n" + line);
        return node.says();
    };
    CHECK(says_with("driver /opt/mellanox/lib/libmlx5").empty());
    CHECK(says_with(" \tdriver\t /opt/mellanox/lib/libmlx5").empty());
    for (const char* line :
         {"driver mlx5", "# driver /opt/libmlx5", "drivers /opt/libmlx5", "driver/opt", "driver", ""})
        CHECK_THAT(says_with(line), Has("libibverbs without a provider"));
}

TEST_CASE("an image with too many files is not looked at") {
    const ImageMachine node;
    for (int number = 0; number < 101; ++number) node.add("/etc/libibverbs.d/" + std::to_string(number));
    CHECK_THAT(node.why_not("pod-provider"), Has("/etc/libibverbs.d of ", "expected 100 names at most"));
    node.remove_from_image("/etc/libibverbs.d/7");
    CHECK(node.why_not("pod-provider").empty());
    for (int number = 0; number < 20'000; ++number) node.add("/usr/lib64/libibverbs/" + std::to_string(number));
    CHECK_THAT(node.why_not("pod-provider"), Has("/usr/lib64/libibverbs of ", "names at most"));
}

TEST_CASE("only with the files of a PF a pod can manage the fabric") {
    ImageMachine node;
    node.make(ImageMachine::in_image("7", "/dev/infiniband"));
    const std::string file = node.root() + "/" + ImageMachine::in_image("7", "/dev/infiniband/umad0");
    NEEDS(::mknod(file.c_str(), S_IFCHR, makedev(1, 3)) == 0, "root, to make a device file");
    fs::permissions(file, fs::perms::all);
    CHECK_THAT(node.found_by("pod-management-files"), Has("info | shop/till | process 7 (tenant) may open "));
    node.nic().pf = base::PciAddress::parse("0000:3b:00.7");
    CHECK(node.found_by("pod-management-files").empty());
}

/// A machine with an InfiniBand card, and pod "shop/till" with an IPoIB child that works.
class PodMachine : public Machine {
public:
    PodMachine() {
        asked_pod = "shop/till";
        inventory.namespaces.push_back(
            {.inode = 2, .path = "/nowhere", .pod = {.pod_namespace = "shop", .name = "till"}});
        auto& rdma = inventory.devices.front().rdma.front();
        rdma.name = "ib0p0";
        rdma.protocol = "ib";
        rdma.ports.push_back({.number = 1,
                              .state = kernel::PortState::active,
                              .physical_state = "LinkUp",
                              .link_layer = "InfiniBand",
                              .lid = 2,
                              .sm_lid = 1});
        inventory::Interface child{.net = {.place = 1,
                                           .name = "net1",
                                           .ifindex = 3,
                                           .kind = "ipoib",
                                           .mtu = 2044,
                                           .is_up = true,
                                           .has_carrier = true}};
        child.parent = "ib0";
        child.rdma_device = "ib0p0";
        child.rdma_port = 1;
        child.is_shared = true;
        child.network = "net";
        child.pkey = 0x8001;
        child.pkeys = {{.index = 0, .pkey = 0x7fff}, {.index = 1, .pkey = 0x8001}};
        child.ipoib_mode = kernel::IpoibMode::datagram;
        child.ipoib_parent = inventory::IpoibParent{.mode = kernel::IpoibMode::datagram, .mtu = 2044, .is_up = true};
        inventory.interfaces.push_back(std::move(child));
    }

    [[nodiscard]] inventory::Interface& child() { return inventory.interfaces.front(); }
    [[nodiscard]] std::string found() const { return found_by("pod-ipoib"); }
};

TEST_CASE("an IPoIB interface without a carrier lacks a group in the fabric, or its port a link") {
    PodMachine machine;
    CHECK(machine.found().empty());
    machine.child().net.has_carrier = false;
    CHECK(machine.found_by("pod-interface").find("carrier") == std::string::npos);
    CHECK_THAT(machine.found(), Documented("pod-ipoib", "the subnet manager has no group for IPoIB",
                                           "| shop/till net1 | ", "flag ipoib"));
    machine.child().net.is_up = false; // pod-interface says so
    CHECK(machine.found().empty());
    machine.child().net.is_up = true;
    auto& port = machine.inventory.devices.front().rdma.front().ports.front();
    port.state = kernel::PortState::down;
    port.physical_state = "Polling";
    CHECK_THAT(machine.found(),
               Has("port 1 of ib0p0 is down, physical state Polling", "the VF's link state") && !Has("subnet manager"));
}

TEST_CASE("membership of an IPoIB interface is that of its port, and its MTU is within its parent's, unless both are "
          "connected") {
    PodMachine machine;
    machine.child().pkey = 0xffff;
    CHECK_THAT(machine.found(), Has("warning | shop/till net1 | ", "0x7fff"));
    machine.child().pkeys.push_back({.index = 2, .pkey = 0xffff}); // full members come first
    CHECK(machine.found().empty());
    machine.child().net.mtu = 1500;
    CHECK(machine.found().empty());
    machine.child().ipoib_parent->mode = kernel::IpoibMode::connected;
    machine.child().ipoib_mode = kernel::IpoibMode::connected;
    machine.child().net.mtu = 65520;
    CHECK(machine.found().empty());
    machine.child().ipoib_mode = kernel::IpoibMode::datagram;
    CHECK_THAT(machine.found(), Has("info | ", "parent ib0 is connected"));
}

} // namespace rdmanet::doctor
