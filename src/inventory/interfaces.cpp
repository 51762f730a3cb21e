#include "side.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace rdmanet::inventory {
namespace {

using kernel::GidEntry;

/// A port of a side's RDMA device.
struct Found {
    Side* side = nullptr;
    SeenRdma* device = nullptr;
    std::size_t port = 0; // its place in the lists of ports
};

/// The port on a link, or the only port of the link's device: InfiniBand ports have no net device, and in shared mode
/// the net device is in another namespace.
std::optional<Found> find_on(Side& side, const kernel::Link& link, bool is_same_namespace) {
    std::optional<Found> only;
    for (SeenRdma& rdma : side.rdma) {
        const bool is_own = !link.parent_device.empty() && rdma.bus_device == link.parent_device;
        for (std::size_t port = 0; port < rdma.ports.size(); ++port)
            if (is_same_namespace && rdma.ports[port].netdev_ifindex == link.ifindex) return Found{&side, &rdma, port};
        if (is_own && !rdma.ports.empty() && !only) only = Found{&side, &rdma, 0};
    }
    return only;
}

/// The same for a link of the host or what is below it: the parent of a VLAN, the ports of a bond.
std::optional<Found> find_below(Side& host, const kernel::Link& link) {
    constexpr int kDeepest = 8; // MAX_NEST_DEV, linux/netdevice.h
    std::vector<const kernel::Link*> level{&link};
    for (int depth = 0; depth < kDeepest && !level.empty(); ++depth) {
        std::vector<const kernel::Link*> lower;
        for (const kernel::Link* each : level) {
            if (auto found = find_on(host, *each, true)) return found;
            if (each->parent_ifindex && !each->parent_netnsid && each->kind != "veth")
                if (const SeenLink* parent = host.find_link(*each->parent_ifindex)) lower.push_back(&parent->link);
            for (const SeenLink& port : host.links)
                if (port.link.master_ifindex == each->ifindex) lower.push_back(&port.link);
        }
        level = std::move(lower);
    }
    return std::nullopt;
}

/// A child on another one, not a port's own interface.
bool is_ipoib_child(const kernel::Link& link) {
    return link.kind == "ipoib" && link.parent_device.empty();
}

class Lister {
public:
    Lister(std::vector<Side>& sides, const std::vector<Namespace>& namespaces,
           const std::vector<state::AttachmentRecord>& records)
        : sides_(sides), namespaces_(namespaces) {
        for (const state::AttachmentRecord& record : records)
            attachments_.emplace(std::pair(record.netns.inode, record.key.ifname), &record);
    }

    std::vector<Interface> run() {
        for (std::size_t place = 0; place < sides_.size(); ++place)
            for (const SeenLink& seen : sides_[place].links) visit(sides_[place], seen, place);
        return std::move(found_);
    }

private:
    void visit(Side& side, const SeenLink& seen, std::size_t place) {
        const kernel::Link& link = seen.link;
        const bool is_child = link.parent_ifindex.has_value() || is_ipoib_child(link);
        const SeenLink* const parent = is_child ? find_parent(seen, place) : nullptr;
        if (is_child ? parent == nullptr : link.parent_device.empty()) return;
        Interface interface { .net = seen.described, .addresses = seen.addresses, .duplicates = seen.duplicates };
        if (link.ipoib) interface.pkey = link.ipoib->pkey;
        if (link.ipoib) interface.ipoib_mode = link.ipoib->mode;
        std::optional<Found> found;
        if (is_child) {
            interface.parent = parent->link.name;
            if (is_ipoib_child(link) && parent->link.ipoib)
                interface.ipoib_parent =
                    IpoibParent{.mode = parent->link.ipoib->mode.value_or(kernel::IpoibMode::datagram),
                                .mtu = parent->link.mtu,
                                .is_up = parent->link.is_up()};
            found = find_below(sides_.front(), parent->link);
            if (!found && !is_of_network(place, link.name)) return; // of an ordinary network
        } else {
            found = find_on(side, link, true);
            if (!found && place != 0) found = find_on(sides_.front(), link, false);
            if (!found && place == 0) return;
        }
        if (found) describe(*found, place, interface);
        if (is_of_network(place, link.name)) describe(*attachments_.at(key(place, link.name)), interface);
        found_.push_back(std::move(interface));
    }

    /// On the host. The kernel does not say where the parent of an IPoIB child is: ipoib_link_ops has no get_link_net.
    /// Parent and child have their port's GID.
    [[nodiscard]] const SeenLink* find_parent(const SeenLink& child, std::size_t place) const {
        const Side& host = sides_.front();
        if (!is_ipoib_child(child.link))
            return child.has_parent_on_host ? host.find_link(*child.link.parent_ifindex) : nullptr;
        if (place == 0) return nullptr;
        for (const SeenLink& each : host.links)
            if (each.link.kind == "ipoib" && !each.link.parent_device.empty() &&
                each.link.port_gid() == child.link.port_gid())
                return &each;
        return nullptr;
    }

    void describe(const Found& found, std::size_t place, Interface& interface) {
        const SeenRdma& device = *found.device;
        RdmaPort& port = found.device->described.ports[found.port];
        interface.rdma_device = device.described.name;
        interface.rdma_port = port.number;
        interface.is_shared = place != 0 && found.side == &sides_.front();
        interface.files = device.described.files;
        const bool is_infiniband = port.link_layer == "InfiniBand";
        if (!is_infiniband && interface.addresses.empty()) return; // a table has 256 files, and a node 500 idle VFs
        if (is_infiniband) interface.pkeys = pkeys_of(found);
        const std::vector<GidEntry>& table = table_of(found);
        port.gids = table.size();
        for (const GidEntry& entry : table)
            if (is_infiniband || is_of(entry, interface)) interface.gids.push_back(entry);
    }

    static void describe(const state::AttachmentRecord& record, Interface& interface) {
        interface.network = record.key.network;
        for (const base::IpAddress& address : record.addresses())
            if (!has_address(interface, address)) interface.lost.push_back(address);
    }

    static bool has_address(const Interface& interface, const base::IpAddress& address) {
        return std::ranges::any_of(interface.addresses,
                                   [&](const base::IpPrefix& each) { return each.address() == address; });
    }

    static bool is_of(const GidEntry& entry, const Interface& interface) {
        return entry.netdev == interface.net.name && has_address(interface, entry.address);
    }

    const std::vector<GidEntry>& table_of(const Found& found) {
        const kernel::RdmaPort& port = found.device->ports[found.port];
        const auto [at, is_new] = tables_.try_emplace({found.side, port.link_name()});
        if (is_new) at->second = kernel::list_gids(port, found.side->rdma_sysfs);
        return at->second;
    }

    const std::vector<kernel::PkeyEntry>& pkeys_of(const Found& found) {
        const kernel::RdmaPort& port = found.device->ports[found.port];
        const auto [at, is_new] = pkeys_.try_emplace({found.side, port.link_name()});
        if (is_new) at->second = kernel::list_pkeys(port, found.side->rdma_sysfs);
        return at->second;
    }

    [[nodiscard]] std::pair<std::uint64_t, std::string> key(std::size_t place, const std::string& name) const {
        return {namespaces_[place].inode, name};
    }
    [[nodiscard]] bool is_of_network(std::size_t place, const std::string& name) const {
        return attachments_.contains(key(place, name));
    }

    std::vector<Side>& sides_;
    const std::vector<Namespace>& namespaces_;
    std::map<std::pair<std::uint64_t, std::string>, const state::AttachmentRecord*> attachments_;
    std::map<std::pair<const Side*, std::string>, std::vector<GidEntry>> tables_;
    std::map<std::pair<const Side*, std::string>, std::vector<kernel::PkeyEntry>> pkeys_;
    std::vector<Interface> found_;
};

} // namespace

std::vector<Interface> list_interfaces(std::vector<Side>& sides, const std::vector<Namespace>& namespaces,
                                       const std::vector<state::AttachmentRecord>& records) {
    return Lister(sides, namespaces, records).run();
}

} // namespace rdmanet::inventory
