// Images whose provider libraries are not where distributions put them now.
#include "machine.hpp"

#include <utility>

namespace rdmanet::doctor {
namespace {

using Catch::Contains;

/// A node with pod "shop/till", whose image has libibverbs. The driver of its device is not known: this kernel does not
/// have the device.
class ImageMachine : public Machine {
public:
    ImageMachine() {
        asked_pod = "shop/till";
        inventory.namespaces.front().path = "/proc/self/ns/net";
        inventory.namespaces.push_back(
            {.inode = 2, .path = "/proc/self/ns/net", .pod = {.pod_namespace = "shop", .name = "till"}});
        inventory::Interface interface { .net = host_interface("net1", 1500) };
        interface.net.place = 1;
        interface.rdma_device = "absent0";
        inventory.interfaces.push_back(std::move(interface));
        make("proc/7/ns");
        write("proc/7/comm", "perftest");
        fs::create_symlink("net:[2]", root() + "/proc/7/ns/net");
        put("usr/lib64/libibverbs.so.1");
    }

    void put(const std::string& file, const std::string& text = "") const {
        const std::string path = "proc/7/root/" + file;
        make(path.substr(0, path.rfind('/')));
        write(path, text);
    }
    [[nodiscard]] std::string found() const { return found_by("pod-provider"); }
};

} // namespace

TEST_CASE("providers of an image are found wherever libibverbs loads them from") {
    const ImageMachine machine;
    REQUIRE(machine.why_not("pod-provider").empty());
    REQUIRE_THAT(machine.found(), Contains("failure | ") && Contains("process 7 (perftest) has libibverbs without"));
    SECTION("its own directory") {
        machine.put("usr/lib64/libibverbs/libmlx5-rdmav34.so");
    }
    SECTION("the system's directory, as old versions have it") {
        machine.put("usr/lib64/libmlx5-rdmav2.so");
    }
    SECTION("an absolute path in a file") {
        machine.put("etc/libibverbs.d/vendor.driver", "driver /opt/vendor/libvendor");
    }
    CHECK(machine.found().empty());
}

TEST_CASE("files that are no providers do not count") {
    const ImageMachine machine;
    machine.put("usr/lib64/libibverbs/README");
    machine.put("usr/lib64/libmlx5.so");
    machine.put("etc/libibverbs.d/mlx5.driver", "driver mlx5");
    CHECK_THAT(machine.found(), Contains("failure | "));
}

} // namespace rdmanet::doctor
