#include "examination.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/inventory/files.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/proc_view.hpp>

#include <unistd.h>

#include <charconv>
#include <utility>

namespace rdmanet::verify {
namespace {

using inventory::Interface;
using inventory::Inventory;

/// Link-local ones only if there are no others: programs want the pod's address.
std::vector<base::IpAddress> usable_addresses(const Interface& interface) {
    std::vector<base::IpAddress> global;
    std::vector<base::IpAddress> link_local;
    for (const base::IpPrefix& prefix : interface.addresses)
        (prefix.address().is_link_local() ? link_local : global).push_back(prefix.address());
    return global.empty() ? link_local : global;
}

std::string name_of(const inventory::Namespace& home) {
    if (std::string known = home.to_string(); !known.empty()) return known;
    // In the initial PID namespace, the first process is the node's. In another one, it is a container's.
    return kernel::read_proc_view().sees_all() ? "host" : fmt::format("net:[{}]", home.inode);
}

std::string partitions_of(const Interface& interface) {
    std::vector<std::string> all;
    for (const kernel::PkeyEntry& each : interface.pkeys) all.push_back(fmt::format("{:#06x}", each.pkey));
    return all.empty() ? "none" : base::join(all);
}

class Examination {
public:
    Examination(const Inventory& inventory, std::size_t place) : inventory_(inventory) {
        const inventory::Namespace& home = inventory.namespaces[place];
        Endpoint& end = found_.endpoint;
        end.node = inventory.host;
        end.boot_id = inventory::line_of("/proc/sys/kernel/random/boot_id");
        end.pod = name_of(home);
        end.netns = place == 0 ? std::string() : home.path;
        end.netns_inode = home.inode;
    }

    FoundEndpoint run(const Interface* interface) {
        (void)(check_interface(interface) && check_partition(*interface) && check_carrier(interface->net) &&
               check_addresses(*interface) && check_device(*interface) && check_port(*interface) &&
               check_gid(*interface) && check_file(*interface));
        return std::move(found_);
    }

private:
    bool passed(const std::string& id, const std::string& what) {
        found_.checks.push_back({.id = id, .subject = found_.endpoint.to_string(), .what = what});
        return true;
    }
    bool failed(const std::string& id, const std::string& what, const std::string& cure) {
        found_.checks.push_back({.id = id,
                                 .subject = found_.endpoint.to_string(),
                                 .outcome = Outcome::failure,
                                 .what = what,
                                 .cure = cure});
        return false;
    }

    bool check_interface(const Interface* interface) {
        if (interface == nullptr)
            return failed("interface", "the pod has no interface that can use RDMA",
                          "give the pod the annotation k8s.v1.cni.cncf.io/networks with a network of rdmanet");
        const inventory::NetDevice& net = interface->net;
        Endpoint& end = found_.endpoint;
        end.interface = net.name;
        end.ifindex = net.ifindex;
        if (!net.is_up)
            return failed("interface", fmt::format("interface {} is down", net.name),
                          fmt::format("`ip link set {} up` in the pod, or delete the pod", base::shell_word(net.name)));
        return true;
    }

    /// Comes before the carrier, which IPoIB has only in a partition of its port (ipoib_pkey_dev_check_presence(),
    /// drivers/infiniband/ulp/ipoib/ipoib_ib.c).
    bool check_partition(const Interface& interface) {
        if (!interface.pkey || interface.rdma_device.empty()) return true;
        found_.endpoint.is_infiniband = true;
        const auto entry = kernel::find_partition(interface.pkeys, *interface.pkey);
        if (!entry)
            return failed("partition",
                          fmt::format("{} is in partition {:#06x}, and its port {}/{} is not: the port's partitions "
                                      "are {}",
                                      interface.net.name, *interface.pkey, interface.rdma_device, interface.rdma_port,
                                      partitions_of(interface)),
                          "let the subnet manager add the port to the partition, or change the network's \"pkey\"");
        found_.endpoint.pkey = entry->pkey;
        found_.endpoint.pkey_index = static_cast<std::uint16_t>(entry->index);
        return passed("partition", fmt::format("{:#06x}, index {}", entry->pkey, entry->index));
    }

    bool check_carrier(const inventory::NetDevice& net) {
        if (!net.has_carrier)
            return failed("interface", fmt::format("interface {} has no carrier", net.name),
                          "bring the parent or PF up, and check its cable");
        return passed("interface", fmt::format("up, MTU {}", net.mtu));
    }

    /// Programs use the pod's address, even where another address would be enough for the test.
    bool check_addresses(const Interface& interface) {
        if (interface.lost.empty()) return true;
        std::vector<std::string> lost;
        for (const base::IpAddress& address : interface.lost) lost.push_back(address.to_string());
        const std::string what =
            fmt::format("{} has lost {}, which rdmanet gave it", interface.net.name, base::join(lost));
        const std::string cure = "delete the pod: its next one gets its addresses anew";
        if (interface.addresses.empty() && !interface.pkey) return failed("addresses", what, cure);
        found_.checks.push_back({.id = "addresses",
                                 .subject = found_.endpoint.to_string(),
                                 .outcome = Outcome::warning,
                                 .what = what,
                                 .cure = cure});
        return true;
    }

    bool check_device(const Interface& interface) {
        Endpoint& end = found_.endpoint;
        end.device = interface.rdma_device;
        end.port = interface.rdma_port;
        if (end.device.empty())
            return failed("device", fmt::format("no RDMA device carries the packets of {}", end.interface),
                          "use a parent or device that `rdma link` shows");
        if (interface.is_shared && inventory_.mode == kernel::RdmaNetnsMode::exclusive)
            return failed(
                "device",
                fmt::format("RDMA device {} is on the host, and in mode exclusive the pod cannot see it", end.device),
                "use a network with \"attach\": \"sriov\", or a node in mode shared");
        return passed("device", fmt::format("{}/{}", end.device, end.port));
    }

    [[nodiscard]] const inventory::RdmaPort* port_of(const Interface& interface) const {
        const std::size_t place = interface.is_shared ? 0 : interface.net.place;
        for (const inventory::Device& device : inventory_.devices)
            for (const inventory::RdmaDevice& rdma : device.rdma)
                for (const inventory::RdmaPort& port : rdma.ports)
                    if (rdma.place == place && rdma.name == interface.rdma_device && port.number == interface.rdma_port)
                        return &port;
        return nullptr;
    }

    bool check_port(const Interface& interface) {
        const inventory::RdmaPort* const port = port_of(interface);
        Endpoint& end = found_.endpoint;
        if (port == nullptr)
            return failed("port", fmt::format("RDMA device {} has no port {}", end.device, end.port),
                          "look at `rdmanet inventory`: the device may have gone");
        end.is_infiniband = port->link_layer == "InfiniBand";
        // "100 Gb/sec (4X EDR)": a point as decimal sign, whatever the locale.
        (void)std::from_chars(port->rate.data(), port->rate.data() + port->rate.size(), end.rate);
        if (port->state != kernel::PortState::active)
            return failed("port",
                          fmt::format("port {} of {} is {}, expected active", end.port, end.device, port->state),
                          end.is_infiniband ? "start a subnet manager, and check the cable"
                                            : "check the cable and `ip link` of the parent or PF");
        return passed("port", fmt::format("active, {}", port->rate));
    }

    bool check_gid(const Interface& interface) {
        Endpoint& end = found_.endpoint;
        if (end.is_infiniband) {
            if (!interface.addresses.empty()) end.address = interface.addresses.front().address();
            const auto own = kernel::parse_port_gid(interface.net.hardware_address);
            for (const kernel::GidEntry& gid : interface.gids)
                if (gid.address == own) end.gid_index = gid.index;
            return passed("gid", "InfiniBand: the LID is enough, unless a port requires a global routing header");
        }
        if (interface.addresses.empty())
            return failed("gid", fmt::format("interface {} has no address, so it has no GID", end.interface),
                          "give the network an \"ipam\"");
        const std::vector<base::IpAddress> addresses = usable_addresses(interface);
        for (const base::IpAddress& address : addresses)
            for (const kernel::GidEntry& gid : interface.gids)
                if (gid.address == address && gid.type == kernel::GidType::roce_v2) {
                    end.address = gid.address;
                    end.gid_index = gid.index;
                    return passed("gid", fmt::format("index {}, {}, {}", gid.index, gid.type, gid.address));
                }
        return failed("gid",
                      fmt::format("{} has no GID of RoCE v2 on {}/{}", interface.addresses.front().address(),
                                  end.device, end.port),
                      "the GID table may be full: `rdmanet inventory` counts it; else delete the pod");
    }

    bool check_file(const Interface& interface) {
        for (const std::string& name : interface.files) {
            if (!name.starts_with("uverbs")) continue;
            const std::string path = fmt::format("/dev/infiniband/{}", name);
            if (::access(path.c_str(), R_OK | W_OK) == 0) return passed("device-file", path);
            return failed("device-file", fmt::format("{} is missing or may not be opened", path),
                          "on the node: `modprobe ib_uverbs` and `udevadm trigger`; in a container: request the RDMA "
                          "device plugin's resource");
        }
        return failed("device-file", fmt::format("RDMA device {} has no file for programs", found_.endpoint.device),
                      "`modprobe ib_uverbs`");
    }

    const Inventory& inventory_;
    FoundEndpoint found_;
};

} // namespace

FoundEndpoint examine(const Inventory& inventory, std::size_t place, const Interface* interface) {
    return Examination(inventory, place).run(interface);
}

} // namespace rdmanet::verify
