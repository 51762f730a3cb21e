// A node as files, and as an inventory of what is on its buses: with faults that no machine of ours can have.
#pragma once

#include <rdmanet/doctor/doctor.hpp>

#include "support/documented_check.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace rdmanet::doctor {

namespace fs = std::filesystem;

/// The files of a node, and what is on its buses: one NIC that works.
class Machine {
public:
    Machine() {
        std::string name = (fs::temp_directory_path() / "doctor-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        root_ = name;
        for (const char* module : {"ib_core", "ib_uverbs", "rdma_ucm", "mlx5_core", "mlx5_ib"})
            make("sys/module/" + std::string(module));
        make("lib/modules/6.1.0");
        write("lib/modules/6.1.0/modules.dep", "kernel/drivers/net/macvlan.ko:\nkernel/drivers/net/ipvlan/ipvlan.ko:");
        make("usr/lib/udev/rules.d");
        write("usr/lib/udev/rules.d/90-rdma-hw-modules.rules", "");
        const auto address = base::PciAddress::parse("0000:3b:00.0").value();
        inventory.kernel = "6.1.0";
        inventory.rdma_system = kernel::RdmaSystem{.netns_mode = kernel::RdmaNetnsMode::shared, .copies_on_fork = true};
        inventory.namespaces.push_back({.inode = 1, .path = "/proc/1/ns/net"});
        inventory::Device nic{.address = address,
                              .pci = inventory::PciFunction{.address = address,
                                                            .vendor = 0x15b3,
                                                            .device = 0x1017,
                                                            .class_code = 0x020000,
                                                            .driver = "mlx5_core",
                                                            .link_speed = "16.0 GT/s PCIe",
                                                            .most_link_speed = "16.0 GT/s PCIe",
                                                            .link_width = 16,
                                                            .most_link_width = 16},
                              .parent = {},
                              .net = {},
                              .rdma = {}};
        nic.rdma.push_back({.place = 0,
                            .name = "mlx5_0",
                            .node_guid = 1,
                            .protocol = "roce",
                            .firmware = {},
                            .ports = {},
                            .files = {}});
        inventory.devices.push_back(std::move(nic));
    }
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;
    ~Machine() { fs::remove_all(root_); }

    /// A file in the image of a process, for make(), write() and remove().
    [[nodiscard]] static std::string in_image(const std::string& process, const std::string& path) {
        return "proc/" + process + "/root" + path;
    }

    void make(const std::string& directory) const { fs::create_directories(root_ + "/" + directory); }
    void remove(const std::string& path) const { fs::remove_all(root_ + "/" + path); }
    void write(const std::string& file, const std::string& text) const {
        std::ofstream(root_ + "/" + file) << text << "\n";
    }

    /// A process of the host's root, whose arguments are separated by blanks.
    void run(const std::string& pid, const std::string& name, std::string arguments = "") const {
        const std::string process = "proc/" + pid;
        make(process);
        write(process + "/comm", name);
        write(process + "/status", "Name:\t" + name + "\nUid:\t0\t0\t0\t0");
        for (char& c : arguments)
            if (c == ' ') c = '\0';
        std::ofstream(root_ + "/" + process + "/cmdline") << name << '\0' << arguments << '\0';
    }
    /// Puts a process, or with "1" the host, into this user namespace.
    void set_users(const std::string& pid, const std::string& number) const {
        make("proc/" + pid + "/ns");
        remove("proc/" + pid + "/ns/user");
        fs::create_symlink("user:[" + number + "]", root_ + "/proc/" + pid + "/ns/user");
    }

    /// Lets everybody execute a file.
    void allow(const std::string& file) const {
        fs::permissions(root_ + "/" + file, fs::perms::owner_all | fs::perms::others_exec | fs::perms::group_exec);
    }

    /// The findings of one check, a line each: "severity | subject | what | fix".
    [[nodiscard]] std::string found_by(const std::string& check) const {
        std::string text;
        for (const Finding& each : report().findings)
            if (each.check == check)
                text += std::string(to_string(each.severity)) + " | " + each.subject + " | " + each.what + " | " +
                        each.fix + "\n";
        return text;
    }

    /// Why a check could not be made; empty if it was made.
    [[nodiscard]] std::string why_not(const std::string& check, const std::string& kubeconfig = "") const {
        for (const CheckResult& each : report(kubeconfig).checks)
            if (each.check.id == check) return each.why;
        return "no such check";
    }

    [[nodiscard]] const std::string& root() const { return root_; }
    [[nodiscard]] inventory::PciFunction& nic() { return *inventory.devices.front().pci; }

    inventory::Inventory inventory;
    std::string asked_pod; // --pod

private:
    [[nodiscard]] Report report(const std::string& kubeconfig = "") const {
        const attach::Node node(root_ + "/run/rdmanet", base::Logger(base::LogLevel::error));
        return examine(inventory, node, {.root = root_, .pod = asked_pod, .kubeconfig = kubeconfig});
    }

    std::string root_;
};

/// For a server without TLS.
inline std::string kubeconfig_for(const std::string& server, const std::string& token = "s3cret") {
    return "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \"" + server +
           "\"}}]\nusers: [{name: u, user: {token: " + token +
           "}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
           "current-context: x\n";
}

/// True if docs/doctor.md has this check with this fault and what the doctor says to it.
inline bool is_documented(const std::string& check, const std::string& fault, const std::string& finding) {
    std::ostringstream page;
    page << std::ifstream(RDMANET_SOURCE_DIR "/docs/doctor.md").rdbuf();
    return test::is_documented(page.str(), check, fault, finding);
}

/// An interface of the host that is up.
inline inventory::NetDevice host_interface(const std::string& name, unsigned mtu) {
    return {.place = 0,
            .name = name,
            .ifindex = 2,
            .kind = {},
            .hardware_address = {},
            .mtu = mtu,
            .is_up = true,
            .has_carrier = true,
            .speed = {},
            .master = {}};
}

/// The RDMA port of an interface.
inline inventory::RdmaPort active_port(const std::string& interface) {
    return {.number = 1,
            .state = kernel::PortState::active,
            .physical_state = {},
            .link_layer = "Ethernet",
            .rate = {},
            .lid = {},
            .sm_lid = {},
            .net_device = interface,
            .gids = {},
            .most_gids = 0};
}

} // namespace rdmanet::doctor
