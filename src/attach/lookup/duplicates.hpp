// Whether another host in the network has an address that a pod is to get.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/kernel/address_probe.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

/// Whether the interface uses ARP and neighbour discovery.
[[nodiscard]] bool has_neighbours(const kernel::Link& link);

/// Whether the interface, which is up, gets a carrier within two seconds, and can send. Before, the kernel drops what
/// is sent.
[[nodiscard]] bool wait_for_carrier(kernel::Socket& route, unsigned ifindex, const base::Deadline& deadline);

/// Throws CniError with the MAC address of the host that has one of the addresses.
void refuse_taken_addresses(const kernel::AddressProber& prober, const std::vector<base::IpAddress>& addresses,
                            const std::string& interface, const base::Deadline& deadline);

} // namespace rdmanet::attach
