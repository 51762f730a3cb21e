// Kernels that lack modules, and files of modules that changed since they were loaded.
#include "build_id.hpp"
#include "machine.hpp"

#include <elf.h>

#include <cstring>

namespace rdmanet::doctor {
namespace {

constexpr const char* kIndex = "lib/modules/6.1.0/modules.dep";

/// A module's file of three sections: none, the names, and the note.
std::string module_with(const std::string& note, const std::string& name = ".note.gnu.build-id") {
    const std::string names = std::string(1, '\0') + ".shstrtab" + '\0' + name + '\0';
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_shoff = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    header.e_shstrndx = 1;
    Elf64_Shdr sections[3]{};
    sections[1].sh_name = 1;
    sections[1].sh_type = SHT_STRTAB;
    sections[1].sh_offset = sizeof header + sizeof sections;
    sections[1].sh_size = names.size();
    sections[2].sh_name = 11;
    sections[2].sh_type = SHT_NOTE;
    sections[2].sh_offset = sections[1].sh_offset + names.size();
    sections[2].sh_size = note.size();
    return std::string(reinterpret_cast<const char*>(&header), sizeof header) +
           std::string(reinterpret_cast<const char*>(sections), sizeof sections) + names + note;
}

/// A machine with the file of the module that runs.
class BuildMachine : public Machine {
public:
    BuildMachine() {
        write(kIndex, "kernel/net/macvlan.ko:\nkernel/net/ipvlan.ko:\nupdates/mlx5-ib.ko: kernel/ib_core.ko");
        make("sys/module/mlx5_ib/notes");
        make("lib/modules/6.1.0/updates");
        put("sys/module/mlx5_ib/notes/.note.gnu.build-id", "build one");
        put(kFile, module_with("build one"));
    }
    void put(const std::string& file, const std::string& bytes) const { std::ofstream(root() + '/' + file) << bytes; }

    static constexpr const char* kFile = "lib/modules/6.1.0/updates/mlx5-ib.ko";
};

} // namespace

TEST_CASE("a kernel without macvlan and ipvlan cannot make children, and the fix is a package") {
    Machine machine;
    CHECK(machine.found_by("child-modules").empty());
    machine.write(kIndex, "kernel/drivers/infiniband/core/ib_core.ko:");
    machine.write("etc/os-release", "ID=ubuntu\nID_LIKE=debian");
    machine.must_find("child-modules", "a kernel of Ubuntu without linux-modules-extra",
                      "`apt-get install linux-modules-extra-6.1.0`");
    SECTION("RHEL") {
        machine.write("etc/os-release", "ID=\"rhel\"");
        CHECK_THAT(machine.found_by("child-modules"), Has("`dnf install kernel-modules-6.1.0 "));
    }
    SECTION("one is part of the kernel, and one is loaded") {
        machine.write("lib/modules/6.1.0/modules.builtin", "kernel/drivers/net/macvlan.ko");
        CHECK_THAT(machine.found_by("child-modules"), Has(" has no module ipvlan: "));
        machine.make("sys/module/ipvlan");
        CHECK(machine.found_by("child-modules").empty());
    }
    SECTION("in mode exclusive children have no RDMA") {
        machine.inventory.rdma_system->netns_mode = kernel::RdmaNetnsMode::exclusive;
        CHECK(machine.found_by("child-modules").empty());
        machine.inventory.devices.front().rdma.front().protocol = "ib";
        CHECK_THAT(machine.found_by("child-modules"), Has(" has no module ib_ipoib: "));
    }
    SECTION("a network of this node needs one") {
        machine.write("etc/cni/net.d/10-macvlan.conflist", R"({"type": "macvlan", "master": "ens1"})"); // not rdmanet's
        CHECK_THAT(machine.found_by("child-modules"), !Has("warning"));
        machine.write("etc/cni/net.d/20-roce.conflist", R"({"type": "rdmanet", "attach": "macvlan"})");
        const std::string both = machine.found_by("child-modules");
        CHECK_THAT(both, Has("info |  | kernel 6.1.0 has no module ipvlan: "));
        CHECK_THAT(both.substr(0, both.find('\n') + 1),
                   Documented("child-modules", "the same, and a network of macvlan children in a file"));
    }
    SECTION("a node without RDMA needs none") {
        machine.inventory.rdma_system.reset();
        CHECK(machine.found_by("child-modules").empty());
        CHECK(machine.why_not("child-modules").empty());
    }
    SECTION("without an index nothing is known") {
        machine.remove(kIndex);
        CHECK(machine.found_by("child-modules").empty());
        CHECK_THAT(machine.why_not("child-modules"), Has("modules.dep"));
    }
}

TEST_CASE("a module's file of another build than the module that runs is a warning") {
    const BuildMachine machine;
    CHECK(machine.found_by("stale-modules").empty());
    machine.put(BuildMachine::kFile, module_with("build two"));
    CHECK_THAT(machine.found_by("stale-modules"),
               Has("warning |  | the file of mlx5_ib is not the build that is loaded",
                   "`dracut -f` or `update-initramfs -u`", "then reboot"));
    SECTION("a compressed file is not compared") {
        machine.write(kIndex, "updates/mlx5-ib.ko.xz:");
        machine.put(std::string(BuildMachine::kFile) + ".xz", "\xfd"
                                                              "7zXZ");
        CHECK(machine.found_by("stale-modules").empty());
        CHECK_THAT(machine.why_not("stale-modules"), Has("modules are compressed"));
    }
    SECTION("a module that is not loaded has no other build") {
        machine.remove("sys/module/mlx5_ib");
        CHECK(machine.found_by("stale-modules").empty());
    }
}

TEST_CASE("a build identifier is read from whole files only") {
    const BuildMachine machine;
    const std::string path = machine.root() + '/' + BuildMachine::kFile;
    CHECK(build_id_in(path) == "build one");
    const std::string whole = module_with("build one");
    for (std::size_t length = 0; length < whole.size(); ++length) {
        machine.put(BuildMachine::kFile, whole.substr(0, length));
        CHECK_FALSE(build_id_in(path));
    }
    machine.put(BuildMachine::kFile, module_with("build one", ".note.Linux"));
    CHECK_FALSE(build_id_in(path));
    machine.put(BuildMachine::kFile, module_with(std::string(5000, 'x')));
    CHECK_FALSE(build_id_in(path));
    CHECK_FALSE(build_id_in(path + ".absent"));
}

} // namespace rdmanet::doctor
