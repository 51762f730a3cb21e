// Kernels of other ages, and nodes whose next boot brings another RDMA mode.
#include "machine.hpp"

#include <chrono>

namespace rdmanet::doctor {
namespace {

using kernel::RdmaNetnsMode;

constexpr const char* kOptions = "etc/modprobe.d/ib_core.conf";

/// A node in mode shared, whose file says exclusive.
class OptionMachine : public Machine {
public:
    OptionMachine() {
        make("etc/modprobe.d");
        make("proc");
        write(kOptions, "options ib_core netns_mode=0");
        boot(std::chrono::hours(-1));
    }

    /// The node has booted that long after the file was written. Nobody can set the time of that.
    void boot(std::chrono::seconds after) const {
        const auto written = std::chrono::system_clock::now() + after;
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(written.time_since_epoch()).count();
        write("proc/stat", "cpu 1 2 3\nbtime " + std::to_string(seconds) + "\nprocesses 7");
    }
};

} // namespace

TEST_CASE("a kernel without RDMA modes is worth knowing, and nothing is said of its next boot") {
    OptionMachine machine;
    CHECK(machine.found_by("kernel-version").empty());
    machine.inventory.kernel = "4.18.0";
    machine.inventory.rdma_system->netns_mode.reset();
    machine.must_find("kernel-version", "a kernel without RDMA modes", "\"macvlan\"", "Linux 5.3");
    CHECK(machine.found_by("mode-at-boot").empty());
    machine.inventory.rdma_system.reset(); // without ib_core nothing is known of the kernel
    CHECK(machine.found_by("kernel-version").empty());
}

TEST_CASE("a kernel that does not copy memory on fork is worth knowing") {
    Machine machine;
    CHECK(machine.found_by("copy-on-fork").empty());
    machine.inventory.kernel = "5.4.0";
    machine.inventory.rdma_system->copies_on_fork = false;
    machine.must_find("copy-on-fork", "a kernel that does not copy on fork", "RDMAV_FORK_SAFE=1");
}

TEST_CASE("an option in a file that is older than the boot was not in the initramfs") {
    OptionMachine machine;
    CHECK_THAT(machine.found_by("mode-at-boot"), Has("will be exclusive after the next boot"));
    machine.boot(std::chrono::hours(1));
    machine.must_find("mode-at-boot", "netns_mode=0 in a file older than the boot, and mode shared",
                      "`dracut -f` or `update-initramfs -u`, then reboot", "`rdma system set netns exclusive`");
    SECTION("Debian") {
        machine.write("etc/os-release", "NAME=\"Debian GNU/Linux\"\nID=debian");
        CHECK_THAT(machine.found_by("mode-at-boot"), Has(" | `update-initramfs -u`, then reboot"));
    }
    SECTION("Rocky") {
        machine.write("etc/os-release", "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"");
        CHECK_THAT(machine.found_by("mode-at-boot"), Has(" | `dracut -f`, then reboot"));
    }
    SECTION("a file that was copied with its time is younger than it seems") {
        machine.boot(std::chrono::hours(-1));
        fs::last_write_time(machine.root() + '/' + kOptions, fs::file_time_type::clock::now() - std::chrono::hours(48));
        CHECK_THAT(machine.found_by("mode-at-boot"), Has("will be exclusive after the next boot"));
    }
    SECTION("the mode is as the file says") {
        machine.inventory.rdma_system->netns_mode = RdmaNetnsMode::exclusive;
        CHECK(machine.found_by("mode-at-boot").empty());
    }
    SECTION("the option on the kernel's command line is no matter of the initramfs") {
        machine.write("proc/cmdline", "quiet ib_core.netns_mode=N root=/dev/sda1");
        CHECK_THAT(machine.found_by("mode-at-boot"), Has("will be exclusive after the next boot"));
    }
    SECTION("the last option counts") {
        machine.write("etc/modprobe.d/last.conf", "options ib_core netns_mode=1 recv_queue_size=512");
        CHECK(machine.found_by("mode-at-boot").empty());
    }
}

TEST_CASE("options in files do not apply to a kernel with ib_core in it") {
    OptionMachine machine;
    machine.write("lib/modules/6.1.0/modules.builtin", "kernel/drivers/infiniband/core/ib_core.ko");
    machine.must_find("mode-at-boot", "netns_mode=0 in a file, and ib_core is part of the kernel",
                      "add ib_core.netns_mode=0 to the kernel's command line");
    SECTION("somebody has set the mode") {
        machine.inventory.rdma_system->netns_mode = RdmaNetnsMode::exclusive;
        CHECK_THAT(machine.found_by("mode-at-boot"),
                   Has("exclusive now, and will be shared", "/etc/modprobe.d does not apply"));
        machine.write("proc/cmdline", "ib_core.netns_mode=0");
        CHECK(machine.found_by("mode-at-boot").empty());
    }
    SECTION("no file has an option") {
        machine.remove(kOptions);
        CHECK(machine.found_by("mode-at-boot").empty());
    }
    SECTION("the option is on the command line, and somebody has set the mode") {
        machine.write("proc/cmdline", "ib_core.netns_mode=0");
        CHECK_THAT(machine.found_by("mode-at-boot"),
                   Has("will be exclusive after the next boot", "remove ib_core.netns_mode=0"));
    }
}

} // namespace rdmanet::doctor
