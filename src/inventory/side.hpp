// What one network namespace has.
#pragma once

#include <rdmanet/inventory/inventory.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netns_sysfs.hpp>
#include <rdmanet/kernel/rdma_files.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::inventory {

struct SeenLink {
    kernel::Link link;
    NetDevice described;
    bool has_parent_on_host = false;
    std::vector<base::IpPrefix> addresses{};
    std::vector<base::IpAddress> duplicates{};
};

/// A port as netlink reports it, and its device as netlink and sysfs describe it.
struct SeenRdma {
    RdmaDevice described;
    std::vector<kernel::RdmaPort> ports;
    std::string bus_device; // "0000:3b:00.0"; empty for soft-RoCE
};

struct Side {
    std::vector<SeenLink> links;
    std::vector<SeenRdma> rdma;
    std::string rdma_sysfs{}; // directory of its RDMA devices

    [[nodiscard]] const SeenLink* find_link(unsigned ifindex) const;
};

/// Where the host's file systems are mounted.
struct Roots {
    std::string sysfs;
    std::string proc;
};

class SideReader {
public:
    SideReader(Roots roots, kernel::Netns host);

    /// Throws base::Error. Comes before the pods.
    [[nodiscard]] Side read_host();
    /// Throws base::Error. In shared mode, all RDMA devices are the host's.
    [[nodiscard]] Side read_pod(const kernel::Netns& netns, std::size_t place);

    /// A socket of the host's namespace. Throws base::SystemError.
    [[nodiscard]] kernel::Socket open_on_host(kernel::Protocol protocol) const;

    /// nullopt without RDMA.
    [[nodiscard]] const std::optional<kernel::RdmaSystem>& rdma_system() const { return rdma_system_; }
    /// Where the host's sysfs is mounted.
    [[nodiscard]] const std::string& sysfs() const { return roots_.sysfs; }

private:
    [[nodiscard]] bool is_on_host() const; // then entering would still need rights
    void read_rdma(Side& side, kernel::Socket& rdma, std::size_t place) const;

    Roots roots_;
    kernel::Netns host_;
    std::optional<kernel::RdmaSystem> rdma_system_;
    std::vector<kernel::RdmaFile> files_;
    std::vector<kernel::NetnsSysfs> sysfs_; // of the pods: their GIDs are read later
};

/// Devices with the net and RDMA devices that they have in each namespace: `sides`, in order. The functions that are
/// not of networks go into `others`. Throws base::SystemError.
[[nodiscard]] std::vector<Device> list_devices(const std::string& sysfs, const std::vector<Side>& sides,
                                               std::vector<PciFunction>& others);

/// Interfaces with the RDMA port that carries their packets, and their GIDs. The ports in `sides` get the number of
/// their GIDs, where it was read. Throws base::SystemError.
[[nodiscard]] std::vector<Interface> list_interfaces(std::vector<Side>& sides, const std::vector<Namespace>& namespaces,
                                                     const std::vector<state::AttachmentRecord>& records);

} // namespace rdmanet::inventory
