// A node as files, and as an inventory of what is on its buses: with faults that no machine of ours can have.
#pragma once

#include <rdmanet/doctor/doctor.hpp>

#include "support/directory.hpp"
#include "support/documented_check.hpp"
#include "support/has.hpp"
#include "support/source_path.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace rdmanet::doctor {

namespace fs = std::filesystem;
using test::Has;

/// Matches a finding that docs/doctor.md has in its row of this check and fault, and that has these parts besides.
class Documented : public Has {
public:
    template <typename... Parts>
    Documented(std::string check, std::string fault, const Parts&... parts)
        : Has(parts...), check_(std::move(check)), fault_(std::move(fault)) {}

    bool match(const std::string& finding) const override {
        std::ostringstream page;
        page << std::ifstream(test::source_path("docs/doctor.md")).rdbuf();
        return test::is_documented(page.str(), check_, fault_, finding) && Has::match(finding);
    }
    [[nodiscard]] std::string describe() const override {
        return "is in the row \"" + fault_ + "\" of docs/doctor.md, and " + Has::describe();
    }

private:
    std::string check_;
    std::string fault_;
};

/// The files of a node, and what is on its buses: one NIC that works.
class Machine {
public:
    Machine() {
        for (const char* module : {"ib_core", "ib_uverbs", "rdma_ucm", "mlx5_core", "mlx5_ib"})
            make("sys/module/" + std::string(module));
        write("lib/modules/6.1.0/modules.dep", "kernel/drivers/net/macvlan.ko:\nkernel/drivers/net/ipvlan/ipvlan.ko:");
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
                                                            .most_link_width = 16}};
        nic.rdma.push_back({.place = 0, .name = "mlx5_0", .node_guid = 1, .protocol = "roce"});
        inventory.devices.push_back(std::move(nic));
    }

    /// A file in the image of a process, for make(), write() and remove().
    [[nodiscard]] static std::string in_image(const std::string& process, const std::string& path) {
        return "proc/" + process + "/root" + path;
    }

    void make(const std::string& directory) const { files_.make(directory); }
    void remove(const std::string& path) const { files_.remove(path); }
    void link(const std::string& file, const std::string& target) const { files_.link(file, target); }
    void write(const std::string& file, const std::string& text) const { files_.write(file, text + '\n'); }

    /// A process of the host's root, whose arguments are separated by blanks.
    void run(const std::string& pid, const std::string& name, std::string arguments = "") const {
        const std::string process = "proc/" + pid;
        write(process + "/comm", name);
        write(process + "/status", "Name:\t" + name + "\nUid:\t0\t0\t0\t0");
        for (char& c : arguments)
            if (c == ' ') c = '\0';
        files_.write(process + "/cmdline", name + '\0' + arguments + '\0');
    }
    /// Puts a process, or with "1" the host, into this user namespace.
    void set_users(const std::string& pid, const std::string& number) const {
        remove("proc/" + pid + "/ns/user");
        link("proc/" + pid + "/ns/user", "user:[" + number + "]");
    }

    /// Lets everybody execute a file.
    void allow(const std::string& file) const {
        fs::permissions(files_.file(file), fs::perms::owner_all | fs::perms::others_exec | fs::perms::group_exec);
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

    /// One check finds this fault as docs/doctor.md says, and the finding has these parts besides.
    template <typename... Parts>
    void must_find(const std::string& check, const std::string& fault, const Parts&... parts) const {
        CHECK_THAT(found_by(check), Documented(check, fault, parts...));
    }

    /// Why a check could not be made; empty if it was made.
    [[nodiscard]] std::string why_not(const std::string& check, const std::string& kubeconfig = "") const {
        for (const CheckResult& each : report(kubeconfig).checks)
            if (each.check.id == check) return each.why;
        return "no such check";
    }

    [[nodiscard]] const std::string& root() const { return files_.path(); }
    [[nodiscard]] inventory::PciFunction& nic() { return *inventory.devices.front().pci; }

    inventory::Inventory inventory;
    std::string asked_pod; // --pod

private:
    [[nodiscard]] Report report(const std::string& kubeconfig = "") const {
        const attach::Node node(root() + "/run/rdmanet", base::Logger(base::LogLevel::error));
        return examine(inventory, node, {.root = root(), .pod = asked_pod, .kubeconfig = kubeconfig});
    }

    test::Directory files_;
};

/// For a server without TLS.
inline std::string kubeconfig_for(const std::string& server, const std::string& token = "s3cret") {
    return "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \"" + server +
           "\"}}]\nusers: [{name: u, user: {token: " + token +
           "}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
           "current-context: x\n";
}

/// An interface of the host that is up.
inline inventory::NetDevice host_interface(const std::string& name, unsigned mtu) {
    return {.place = 0, .name = name, .ifindex = 2, .mtu = mtu, .is_up = true, .has_carrier = true};
}

/// The RDMA port of an interface.
inline inventory::RdmaPort active_port(const std::string& interface) {
    return {.number = 1, .state = kernel::PortState::active, .link_layer = "Ethernet", .net_device = interface};
}

/// A machine whose NIC has interface ens1 with MTU 4200, and PFC for priority 3.
class PortMachine : public Machine {
public:
    PortMachine() {
        inventory.devices.front().net.push_back(host_interface("ens1", 4200));
        inventory.devices.front().net.front().flow_control = kernel::FlowControl{.pfc = 1U << 3U};
    }

    [[nodiscard]] kernel::FlowControl& flow() { return *inventory.devices.front().net.front().flow_control; }
};

/// A machine whose NIC has a VF with a driver and devices.
class VfMachine : public Machine {
public:
    VfMachine() {
        inventory.devices.front().net.push_back(host_interface("ens1", 1500));
        add_vf("0000:3b:00.1", "ens1v0");
    }

    void add_vf(const std::string& text, const std::string& interface) {
        ++nic().vfs;
        const auto address = base::PciAddress::parse(text).value();
        inventory::Device vf{.address = address,
                             .pci = inventory::PciFunction{.address = address,
                                                           .class_code = 0x020000,
                                                           .driver = "mlx5_core",
                                                           .pf = nic().address},
                             .net = {host_interface(interface, 1500)}};
        inventory.devices.push_back(std::move(vf));
    }

    /// The last one.
    [[nodiscard]] inventory::Device& vf() { return inventory.devices.back(); }
};

} // namespace rdmanet::doctor
