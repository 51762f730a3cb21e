#include <rdmanet/verify/endpoint.hpp>

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/inventory/files.hpp>
#include <rdmanet/kernel/netns.hpp>

#include <unistd.h>

#include <charconv>

namespace rdmanet::verify {
namespace {

using inventory::Interface;
using inventory::Inventory;

/// The number of the pod's namespace.
std::size_t find_place(const Inventory& inventory, const std::string& pod) {
    if (pod != ".") return inventory::find_pod(inventory, pod);
    const std::uint64_t own = kernel::Netns::current().id().inode;
    for (std::size_t place = 0; place < inventory.namespaces.size(); ++place)
        if (inventory.namespaces[place].inode == own) return place;
    throw base::Error("pod \".\": the network namespace of this process was not found: run it as root");
}

/// Throws if the choice is ambiguous. nullptr: the pod has no such interface.
const Interface* find_interface(const Inventory& inventory, std::size_t place, const EndpointChoice& choice) {
    std::vector<const Interface*> all;
    std::vector<std::string> names;
    for (const Interface& each : inventory.interfaces) {
        if (each.net.place != place) continue;
        if (choice.interface == each.net.name) return &each;
        all.push_back(&each);
        names.push_back(each.net.name);
    }
    if (!choice.interface.empty() && !all.empty())
        throw base::Error(fmt::format("pod {} has no interface {} that can use RDMA: give one of {}",
                                      base::quoted(choice.pod), base::quoted(choice.interface), base::join(names)));
    if (all.size() > 1)
        throw base::Error(
            fmt::format("pod {} has several interfaces that can use RDMA: give one with `--interface`: {}",
                        base::quoted(choice.pod), base::join(names)));
    return all.empty() ? nullptr : all.front();
}

/// Link-local ones only if there are no others: programs want the pod's address.
std::vector<base::IpAddress> usable_addresses(const Interface& interface) {
    std::vector<base::IpAddress> global;
    std::vector<base::IpAddress> link_local;
    for (const base::IpPrefix& prefix : interface.addresses)
        (prefix.address().is_link_local() ? link_local : global).push_back(prefix.address());
    return global.empty() ? link_local : global;
}

class Examination {
public:
    Examination(const Inventory& inventory, std::size_t place) : inventory_(inventory) {
        const inventory::Namespace& home = inventory.namespaces[place];
        Endpoint& end = found_.endpoint;
        end.node = inventory.host;
        end.boot_id = inventory::line_of("/proc/sys/kernel/random/boot_id");
        end.pod = place == 0 ? "host" : home.to_string();
        end.netns = place == 0 ? std::string() : home.path;
    }

    FoundEndpoint run(const Interface* interface) {
        (void)(check_interface(interface) && check_device(*interface) && check_port(*interface) &&
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
        end.mtu = net.mtu;
        if (!net.is_up)
            return failed("interface", fmt::format("interface {} is down", net.name),
                          fmt::format("`ip link set {} up` in the pod, or delete the pod", net.name));
        if (!net.has_carrier)
            return failed("interface", fmt::format("interface {} has no carrier", net.name),
                          "bring the parent or PF up, and check its cable");
        return passed("interface", fmt::format("up, MTU {}", net.mtu));
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
            return passed("gid", "InfiniBand: the LID is enough");
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

std::string Endpoint::to_string() const {
    return interface.empty() ? pod : fmt::format("{} {}", pod, interface);
}

bool Endpoint::is_same_as(const Endpoint& other) const {
    return boot_id == other.boot_id && pod == other.pod && ifindex == other.ifindex && device == other.device;
}

FoundEndpoint find_endpoint(const Inventory& inventory, const EndpointChoice& choice) {
    const std::size_t place = find_place(inventory, choice.pod);
    return Examination(inventory, place).run(find_interface(inventory, place, choice));
}

} // namespace rdmanet::verify
