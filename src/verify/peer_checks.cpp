#include "peer_checks.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/pkey.hpp>
#include <rdmanet/kernel/route.hpp>

#include <chrono>

namespace rdmanet::verify {
namespace {

constexpr std::chrono::seconds kKernelPatience{10};

/// An end with both families tests with IPv4, so the end that tests with IPv6 has no GID of an IPv4 address.
void describe_families(const Endpoint& v6, const Endpoint& v4, Check& check) {
    check.what =
        fmt::format("{} has no GID of an IPv4 address, only of {}; {} has one of {}", v6, *v6.address, v4, *v4.address);
    check.fix =
        v6.address->is_link_local()
            ? fmt::format("delete the pod {} if it has lost its address, else give its network an IPv4 range", v6.pod)
            : fmt::format("give both networks addresses of one family: {} needs an IPv4 range, or {} an IPv6 "
                          "range alone",
                          v6, v4);
}

Check check_kind(const Endpoint& here, const Endpoint& peer) {
    Check check{.id = "peer", .subject = here.to_string(), .what = fmt::format("{} on {}", peer, peer.node)};
    if (here.is_infiniband != peer.is_infiniband) {
        check.outcome = Outcome::failure;
        check.what = fmt::format("{} is {}, and {} is {}", here, here.is_infiniband ? "InfiniBand" : "Ethernet", peer,
                                 peer.is_infiniband ? "InfiniBand" : "Ethernet");
        check.fix = "test between two interfaces of one kind";
    } else if (!here.is_infiniband && here.address && peer.address &&
               here.address->family() != peer.address->family()) {
        check.outcome = Outcome::failure;
        describe_families(here.address->is_v4() ? peer : here, here.address->is_v4() ? here : peer, check);
    } else if (!here.is_infiniband && here.address == peer.address && !here.is_same_as(peer)) {
        check.outcome = Outcome::failure;
        check.what = fmt::format("{} and {} have the same address {}", here, peer, *here.address);
        check.fix = "let the networks share their \"ipam\" ranges, or give them different ones";
    }
    return check;
}

/// Packets of another partition are dropped without an answer, and so are those between limited members.
Check check_partition(const Endpoint& here, const Endpoint& peer) {
    Check check{
        .id = "partition", .subject = here.to_string(), .what = fmt::format("{:#06x} at both ends", *here.pkey)};
    if (!kernel::is_same_partition(*here.pkey, *peer.pkey)) {
        check.outcome = Outcome::failure;
        check.what = fmt::format("{} is in partition {:#06x}, and {} in {:#06x}", here, *here.pkey, peer, *peer.pkey);
        check.fix = "give both networks the same \"pkey\"";
    } else if (((*here.pkey | *peer.pkey) & kernel::kFullMember) == 0) {
        check.outcome = Outcome::failure;
        check.what = fmt::format("the ports of {} and {} are both limited members of partition {:#06x}", here, peer,
                                 *here.pkey | kernel::kFullMember);
        check.fix = "in the subnet manager, make one of the ports a full member";
    }
    return check;
}

Check check_route(kernel::Socket& socket, const Endpoint& here, const Endpoint& peer) {
    Check check{.id = "route", .subject = here.to_string()};
    const auto route = kernel::find_route_to(socket, *peer.address);
    if (route && route->ifindex == here.ifindex) {
        check.what = fmt::format("to {} by {}", *peer.address, here.interface);
        return check;
    }
    // A queue pair sends by its GID's interface all the same (addr4_resolve(), drivers/infiniband/core/addr.c).
    check.outcome = Outcome::warning;
    const auto link = route ? kernel::find_link(socket, route->ifindex) : std::nullopt;
    check.what = route ? fmt::format("packets to {} leave by {}, expected {}", *peer.address,
                                     link ? link->name : fmt::format("interface {}", route->ifindex), here.interface)
                       : fmt::format("no route to {}, expected one by {}", *peer.address, here.interface);
    check.fix = fmt::format("add a route to the network's \"routes\", or in the pod: `ip route add {} dev {}`",
                            *peer.address, here.interface);
    return check;
}

Check check_mtu(const Endpoint& here, const Endpoint& peer) {
    Check check{.id = "mtu", .subject = here.to_string(), .what = fmt::format("{} bytes at both ends", here.mtu)};
    if (here.mtu == peer.mtu) return check;
    check.outcome = Outcome::warning;
    check.what = fmt::format("packets of {} carry {} bytes, those of {} carry {}", here, here.mtu, peer, peer.mtu);
    check.fix = "set the same \"mtu\" in both networks, and on both parents or PFs";
    return check;
}

} // namespace

std::vector<Check> check_peer(const Endpoint& here, const Endpoint& peer) {
    std::vector<Check> checks{check_kind(here, peer)};
    if (here.pkey && peer.pkey) checks.push_back(check_partition(here, peer));
    if (worst_of(checks) == Outcome::failure) return checks;
    if (!here.is_infiniband && peer.address && here.address != peer.address) {
        kernel::Socket socket = kernel::Socket::open(kernel::Protocol::route, base::Deadline::in(kKernelPatience));
        checks.push_back(check_route(socket, here, peer));
    }
    checks.push_back(check_mtu(here, peer));
    return checks;
}

} // namespace rdmanet::verify
