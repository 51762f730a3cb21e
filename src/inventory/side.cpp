#include "side.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/inventory/files.hpp>
#include <rdmanet/kernel/address.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <linux/if.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string_view>

namespace rdmanet::inventory {
namespace {

using kernel::Link;
using kernel::Socket;

constexpr std::chrono::seconds kPatience{5};

NetDevice describe(const Link& link, std::size_t place) {
    return {.place = place,
            .name = link.name,
            .ifindex = link.ifindex,
            .kind = link.kind,
            .hardware_address = link.hardware_address_text(),
            .mtu = link.mtu,
            .is_up = link.is_up(),
            .has_carrier = (link.flags & IFF_LOWER_UP) != 0};
}

/// Whether something of RDMA can be behind the link: a device of its own, or a parent. An IPoIB child may be without
/// its parent's number: the kernel leaves it out if it is the child's own in another namespace (nla_put_iflink()).
bool is_of_interest(const Link& link) {
    return !link.parent_device.empty() || link.parent_ifindex.has_value() || link.kind == "ipoib";
}

std::vector<SeenLink> read_links(Socket& route, const std::string& sysfs, std::size_t place) {
    std::vector<SeenLink> links;
    for (Link& link : kernel::list_links(route)) {
        SeenLink seen{.link = std::move(link)};
        seen.described = describe(seen.link, place);
        if (is_of_interest(seen.link)) {
            for (const kernel::Address& address : kernel::list_addresses(route, seen.link.ifindex)) {
                seen.addresses.push_back(address.prefix);
                if (address.is_duplicate) seen.duplicates.push_back(address.prefix.address());
            }
            // -1: the driver does not know (speed_show(), net/core/net-sysfs.c)
            const auto speed = number_of<int>(fmt::format("{}/class/net/{}/speed", sysfs, seen.link.name));
            if (speed && *speed > 0) seen.described.speed = static_cast<unsigned>(*speed);
        }
        links.push_back(std::move(seen));
    }
    for (SeenLink& seen : links)
        for (const SeenLink& other : links)
            if (seen.link.master_ifindex == other.link.ifindex) seen.described.master = other.link.name;
    return links;
}

/// "4: ACTIVE", "5: LinkUp": the word.
std::string word_of(const std::string& line) {
    const std::size_t at = line.find(": ");
    return at == std::string::npos ? line : line.substr(at + 2);
}

RdmaPort describe(const kernel::RdmaPort& port, const std::string& directory) {
    const auto file = [&](std::string_view name) { return fmt::format("{}/ports/{}/{}", directory, port.port, name); };
    return {.number = port.port,
            .state = port.state,
            .physical_state = word_of(line_of(file("phys_state"))),
            .link_layer = line_of(file("link_layer")),
            .rate = line_of(file("rate")),
            .lid = port.lid,
            .sm_lid = port.sm_lid,
            .net_device = port.netdev_name,
            .most_gids = names_in(file("gids")).size()};
}

std::vector<std::string> files_of(const std::string& device, const std::vector<kernel::RdmaFile>& all) {
    std::vector<std::string> names;
    for (const kernel::RdmaFile& file : all)
        if (file.device == device) names.push_back(file.name);
    return names;
}

} // namespace

const SeenLink* Side::find_link(unsigned ifindex) const {
    const auto at = std::ranges::find_if(links, [&](const SeenLink& each) { return each.link.ifindex == ifindex; });
    return at == links.end() ? nullptr : &*at;
}

SideReader::SideReader(Roots roots, kernel::Netns host)
    : roots_(std::move(roots)), host_(std::move(host)),
      files_(kernel::list_rdma_files(fmt::format("{}/class", roots_.sysfs))) {}

void SideReader::read_rdma(Side& side, Socket& rdma, std::size_t place) const {
    for (const kernel::RdmaDevice& device : kernel::list_rdma_devices(rdma)) {
        const std::string directory = fmt::format("{}/{}", side.rdma_sysfs, device.name);
        SeenRdma seen{.described = {.place = place,
                                    .name = device.name,
                                    .node_guid = device.node_guid,
                                    .protocol = device.protocol,
                                    .firmware = line_of(fmt::format("{}/fw_ver", directory)),
                                    .files = files_of(device.name, files_)},
                      .ports = kernel::list_rdma_ports(rdma, device),
                      .bus_device = link_name_of(fmt::format("{}/device", directory))};
        for (const kernel::RdmaPort& port : seen.ports) seen.described.ports.push_back(describe(port, directory));
        side.rdma.push_back(std::move(seen));
    }
}

bool SideReader::is_on_host() const {
    return kernel::Netns::current() == host_;
}

Socket SideReader::open_on_host(kernel::Protocol protocol) const {
    const base::Deadline deadline = base::Deadline::in(kPatience);
    return is_on_host() ? Socket::open(protocol, deadline) : Socket::open_in(host_, protocol, deadline);
}

Side SideReader::read_host() {
    const base::Deadline deadline = base::Deadline::in(kPatience);
    Socket route = open_on_host(kernel::Protocol::route);
    // Opening a socket would load ib_core. Its directory exists also if it is part of the kernel.
    const bool has_rdma = ::access(fmt::format("{}/module/ib_core", roots_.sysfs).c_str(), F_OK) == 0;
    std::optional<Socket> rdma;
    if (has_rdma) rdma = is_on_host() ? Socket::find_rdma(deadline) : Socket::find_rdma_in(host_, deadline);
    Side side{.links = read_links(route, roots_.sysfs, 0),
              .rdma_sysfs = fmt::format("{}/class/infiniband", roots_.sysfs)};
    if (!rdma) return side;
    rdma_system_ = kernel::read_rdma_system(*rdma);
    read_rdma(side, *rdma, 0);
    return side;
}

Side SideReader::read_pod(const kernel::Netns& netns, std::size_t place) {
    const base::Deadline deadline = base::Deadline::in(kPatience);
    Socket route = Socket::open_in(netns, kernel::Protocol::route, deadline);
    sysfs_.emplace_back(netns);
    Side side{.links = read_links(route, sysfs_.back().path(""), place),
              .rdma_sysfs = sysfs_.back().path("class/infiniband")};
    const auto number = kernel::find_netnsid(route, host_); // the list of links has given it one
    for (SeenLink& seen : side.links) seen.has_parent_on_host = number && seen.link.parent_netnsid == number;
    const bool is_exclusive = rdma_system_ && rdma_system_->mode() == kernel::RdmaNetnsMode::exclusive;
    auto rdma = is_exclusive ? Socket::find_rdma_in(netns, deadline) : std::nullopt;
    if (rdma) read_rdma(side, *rdma, place);
    return side;
}

} // namespace rdmanet::inventory
