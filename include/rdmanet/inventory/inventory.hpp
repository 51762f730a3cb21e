// What is on this node, and who has it: network functions with their net and RDMA devices, and the pods' interfaces,
// whoever attached them.
#pragma once

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/inventory/pci.hpp>
#include <rdmanet/kernel/devlink.hpp>
#include <rdmanet/kernel/flow_control.hpp>
#include <rdmanet/kernel/gid.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/pkey.hpp>
#include <rdmanet/kernel/rdma.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::inventory {

/// A network namespace. The first one of an Inventory is the host's, or in a container the container's: that of the
/// first process that /proc shows.
struct Namespace {
    std::uint64_t inode = 0;
    std::string path;          // leads to it from here
    std::string mount_point{}; // where it is mounted, as a process sees it; empty if a process is found in it
    std::int64_t pid = 0;      // of that process; 0 for the host
    std::string process{};     // the name of the process in it
    std::string pod_uid{};     // from that process's cgroup
    state::Pod pod{};          // from rdmanet's records; empty for others
    std::string trouble{};     // why it could not be looked into; empty if it could

    /// "default/web", "pod UID", "/run/netns/blue", "process 42 (sleep)": the best that is known. Empty for the host.
    [[nodiscard]] std::string to_string() const;
};

struct NetDevice {
    std::size_t place = 0; // number of its namespace
    std::string name;
    unsigned ifindex = 0;
    std::string kind; // "macvlan"; empty for a physical device
    std::string hardware_address;
    unsigned mtu = 0; // bytes
    bool is_up = false;
    bool has_carrier = false;
    std::optional<unsigned> speed;                     // Mb/s
    std::string master;                                // the bond or bridge that it is a port of
    std::optional<kernel::FlowControl> flow_control{}; // of a RoCE port on the host, see NicSettings
};

struct RdmaPort {
    unsigned number = 0; // from 1
    kernel::PortState state = kernel::PortState::unknown;
    std::string physical_state; // the kernel's words: "LinkUp", "Polling", "Disabled"
    std::string link_layer;     // "Ethernet", "InfiniBand"
    std::string rate;           // the kernel's words: "100 Gb/sec (4X EDR)"
    std::optional<std::uint32_t> lid;
    std::optional<std::uint32_t> sm_lid;
    std::string net_device;          // in the same namespace
    std::optional<std::size_t> gids; // entries of the table that are used, if it was read
    std::size_t most_gids = 0;       // its length
};

struct RdmaDevice {
    std::size_t place = 0; // number of its namespace
    std::string name;
    std::uint64_t node_guid = 0; // host byte order
    std::string protocol;        // "roce", "ib", "iw"
    std::string firmware;
    std::vector<RdmaPort> ports;
    std::vector<std::string> files; // in /dev/infiniband
};

/// A parameter of devlink (see NicSettings) that keeps a function from having RDMA.
struct RdmaSwitchedOff {
    std::string parameter; // "enable_roce"
    kernel::DevlinkMode mode = kernel::DevlinkMode::runtime;
};

/// A PCI network function, a sub-function, or what has no bus: soft-RoCE.
struct Device {
    std::optional<base::BusAddress> address;
    std::optional<PciFunction> pci;         // of a function
    std::optional<base::PciAddress> parent; // of a sub-function
    std::vector<NetDevice> net;
    std::vector<RdmaDevice> rdma;
    std::optional<RdmaSwitchedOff> switched_off{};
    bool is_switchdev = false;   // of a PF, see NicSettings: the mode of its e-switch
    bool has_random_mac = false; // of a VF, see NicSettings: its interface on the host, and its PF sets no MAC
};

/// The IPoIB interface on the host that a child is made on.
struct IpoibParent {
    kernel::IpoibMode mode = kernel::IpoibMode::datagram;
    unsigned mtu = 0; // bytes
    bool is_up = false;
};

/// An interface that its namespace can use for RDMA, or could.
struct Interface {
    NetDevice net;
    std::string parent; // on the host, of a child; empty for a device of its own
    std::vector<base::IpPrefix> addresses;
    std::vector<base::IpAddress> duplicates; // those of them that another host has: the kernel does not use them
    std::string rdma_device;                 // that carries its packets, as its namespace calls it; empty without RDMA
    unsigned rdma_port = 0;
    bool is_shared = false; // the RDMA device is on the host
    std::vector<kernel::GidEntry> gids;
    std::optional<std::uint16_t> pkey;             // partition of an IPoIB interface
    std::vector<kernel::PkeyEntry> pkeys;          // those of its InfiniBand port
    std::optional<kernel::IpoibMode> ipoib_mode{}; // of an IPoIB interface
    std::optional<IpoibParent> ipoib_parent{};     // of an IPoIB child
    std::vector<std::string> files;                // in /dev/infiniband
    std::string network;                           // of rdmanet; empty if something else attached it
    std::vector<base::IpAddress> lost;             // addresses in rdmanet's record that the interface no longer has
};

struct Inventory {
    std::string host;                              // its name
    std::string kernel;                            // release
    std::optional<kernel::RdmaSystem> rdma_system; // nullopt without RDMA
    std::vector<Namespace> namespaces;
    std::vector<Device> devices;       // by address; those without one are last
    std::vector<PciFunction> others;   // GPUs and other accelerators
    std::vector<Interface> interfaces; // by namespace
    std::vector<std::string> unseen;   // what could not be looked at, and why: one sentence each

    /// The mode that applies; nullopt without RDMA.
    [[nodiscard]] std::optional<kernel::RdmaNetnsMode> mode() const {
        return rdma_system ? std::optional(rdma_system->mode()) : std::nullopt;
    }
};

/// Whether to ask the drivers for the settings of NICs: drivers ask the firmware, which takes milliseconds.
enum class NicSettings : std::uint8_t { leave_out, read };

struct Options {
    std::string root{}; // where the host's "/" is mounted; empty: here
    std::string state_directory;
    NicSettings nic_settings = NicSettings::leave_out;
};

/// Reads netlink, sysfs, procfs and rdmanet's records. Changes nothing and loads no kernel module. What may not be
/// read is in Inventory::unseen. Enters network namespaces one after the other: call it in a process with one thread.
[[nodiscard]] Inventory read_inventory(const Options& options);

/// The port that carries the interface's packets; nullptr if its RDMA device is not in the inventory.
[[nodiscard]] const RdmaPort* find_port(const Inventory& inventory, const Interface& interface);

/// The number of a pod's namespace. `pod` is what Namespace::to_string() says, a path of the namespace, or the pod's
/// UID. nullopt if `pod` is NAMESPACE/NAME, and no namespace is known as that pod's. Throws base::Error if `pod` is
/// something else that no namespace is known as. The error says what was expected.
[[nodiscard]] std::optional<std::size_t> find_pod(const Inventory& inventory, const std::string& pod);
/// As above. Throws base::Error, with the known pods, also if `pod` is NAMESPACE/NAME.
[[nodiscard]] std::size_t get_pod(const Inventory& inventory, const std::string& pod);

} // namespace rdmanet::inventory
