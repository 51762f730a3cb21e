#include "parent.hpp"

#include "ipoib.hpp"

#include <rdmanet/attach/misfit.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/rdma.hpp>
#include <rdmanet/kernel/route.hpp>

#include <linux/if_arp.h>

#include <algorithm>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::quoted;
using kernel::Link;

[[noreturn]] void refuse_parent(const std::string& message) {
    throw cni::CniError(cni::ErrorCode::parent, message);
}

std::optional<Link> find_by_name(kernel::Socket& route, const std::string& name) {
    if (const auto interface = base::InterfaceName::parse(name)) return kernel::find_link(route, *interface);
    return kernel::find_link_by_altname(route, name);
}

/// The first IPoIB interface of an RDMA device. The kernel names the net device only for Ethernet ports.
std::optional<Link> find_ipoib_of_rdma_device(kernel::Socket& route, const std::string& name) {
    for (Link& link : kernel::list_links(route)) {
        const auto address = base::BusAddress::parse(link.parent_device);
        if (link.kind != "ipoib" || link.parent_ifindex || !address) continue;
        const auto devices = kernel::rdma_devices_of(*address);
        if (std::find(devices.begin(), devices.end(), name) != devices.end()) return std::move(link);
    }
    return std::nullopt;
}

Link named_parent(const std::string& name, const config::Config& config, kernel::Socket& route) {
    if (auto link = find_by_name(route, name)) return *std::move(link);
    if (config.link_in_container)
        refuse_parent(
            fmt::format("master {} is not an interface in the pod (\"linkInContainer\"): set \"master\" to one "
                        "that an earlier network creates there",
                        quoted(name)));
    if (const auto netdev = kernel::find_netdev_of_rdma_device(name))
        if (auto link = find_by_name(route, *netdev)) return *std::move(link);
    if (auto link = find_ipoib_of_rdma_device(route, name)) return *std::move(link);
    refuse_parent(
        fmt::format("master {} is neither an interface nor an RDMA device on this node: set \"master\" to one "
                    "that `ip link` or `rdma link` shows",
                    quoted(name)));
}

/// The only interface that an earlier plugin of the chain made where the parent must be, on the host or in the pod.
std::optional<std::string> parent_in_result(const cni::Request& request, const config::Config& config) {
    if (!request.conf.prev_result) return std::nullopt;
    std::vector<std::string> names;
    for (const cni::Interface& interface : request.conf.prev_result->interfaces)
        if (interface.sandbox.empty() != config.link_in_container) names.push_back(interface.name);
    if (names.empty()) return std::nullopt;
    if (names.size() == 1) return names.front();
    refuse_parent(fmt::format(
        "prevResult has {} interfaces {} and \"master\" is not set: set \"master\" to the one that is the parent",
        names.size(), config.link_in_container ? "in the pod" : "on the host"));
}

Link default_route_parent(kernel::Socket& route) {
    for (const base::Family family : {base::Family::v4, base::Family::v6})
        if (const auto found = kernel::find_default_route(route, family))
            if (auto link = kernel::find_link(route, found->ifindex)) return *std::move(link);
    refuse_parent(
        "\"master\" is not set and there is no default route to take the parent from: set \"master\" to the NIC's "
        "interface");
}

std::optional<Misfit> find_ethernet_misfit(const Link& parent, const config::Config& config) {
    const std::string name = quoted(parent.name);
    if (parent.is_infiniband())
        return Misfit{.what = fmt::format("parent {} is an InfiniBand interface, but {} needs an Ethernet interface",
                                          name, config.kind()),
                      .fix = "set \"attach\": \"ipoib\""};
    if (parent.hardware_type != ARPHRD_ETHER)
        return Misfit{.what =
                          fmt::format("parent {} is not an Ethernet interface, which {} needs", name, config.kind()),
                      .fix = "set \"master\" to an Ethernet interface"};
    return std::nullopt;
}

/// A child cannot be a parent (ipoib_new_child_link(), drivers/infiniband/ulp/ipoib/ipoib_netlink.c).
std::optional<Misfit> find_ipoib_misfit(const Link& parent) {
    const std::string name = quoted(parent.name);
    if (parent.kind != "ipoib")
        return Misfit{.what =
                          fmt::format("parent {} is not an IPoIB interface, which \"attach\": \"ipoib\" needs", name),
                      .fix = "run `modprobe ib_ipoib`, and set \"master\" to one that `ip link show type ipoib` lists"};
    if (parent.parent_ifindex)
        return Misfit{.what = fmt::format("parent {} is itself an IPoIB child, which cannot have children", name),
                      .fix = "set \"master\" to its parent, and \"pkey\" to its partition key"};
    return std::nullopt;
}

std::optional<Misfit> find_kind_misfit(const Link& parent, const config::Config& config) {
    return config.is_ipoib() ? find_ipoib_misfit(parent) : find_ethernet_misfit(parent, config);
}

std::optional<Misfit> find_mtu_misfit(const Link& parent, const config::Config& config) {
    const unsigned most = config.is_ipoib() ? most_mtu_of_ipoib(config, parent) : parent.mtu;
    if (config.mtu.value_or(0) <= most) return std::nullopt;
    if (most == parent.mtu)
        return Misfit{
            .what = fmt::format("mtu: {} is above the MTU {} of parent {}", *config.mtu, most, quoted(parent.name)),
            .fix = "lower \"mtu\", or raise the parent's"};
    return Misfit{.what = fmt::format("mtu: {} is above {}, the largest MTU of {}", *config.mtu, most,
                                      ipoib_child(config, parent)),
                  .fix = "lower \"mtu\""};
}

} // namespace

Link find_parent(const cni::Request& request, const config::Config& config, kernel::Socket& route) {
    if (config.master) return named_parent(*config.master, config, route);
    if (const auto name = parent_in_result(request, config)) return named_parent(*name, config, route);
    return default_route_parent(route);
}

void require_usable(const Link& parent, const config::Config& config) {
    if (const auto misfit = find_kind_misfit(parent, config)) refuse_parent(misfit->message());
    if (!parent.is_up())
        refuse_parent(fmt::format("parent {} is down: run `ip link set {} up`", quoted(parent.name), parent.name));
    if (const auto misfit = find_mtu_misfit(parent, config))
        throw cni::CniError(cni::ErrorCode::invalid_network_config, misfit->message());
}

std::optional<Misfit> find_parent_misfit(const Link& parent, const config::Config& config) {
    auto misfit = find_kind_misfit(parent, config);
    return misfit ? misfit : find_mtu_misfit(parent, config);
}

} // namespace rdmanet::attach
