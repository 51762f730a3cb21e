// Whether another host in the network has an address that a pod is about to get.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/kernel/address_probe.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <string>
#include <utility>
#include <vector>

namespace rdmanet::attach {

/// Whether the interface uses ARP and neighbour discovery.
[[nodiscard]] bool has_neighbours(const kernel::Link& link);

/// Waits up to two seconds until the interface, which is up, has a carrier and can send. Before that the kernel drops
/// what is sent. False if it still cannot send.
[[nodiscard]] bool wait_for_carrier(kernel::Socket& route, unsigned ifindex, const base::Deadline& deadline);

/// Another host has the address.
class AddressInUse : public cni::CniError {
public:
    AddressInUse(const base::IpAddress& address, std::string message)
        : CniError(cni::ErrorCode::address_taken, std::move(message)), address_(address) {}
    [[nodiscard]] const base::IpAddress& address() const noexcept { return address_; }

private:
    base::IpAddress address_;
};

/// Throws AddressInUse if another host has one of the addresses. The message has that host's MAC address.
void refuse_taken_addresses(const kernel::AddressProber& prober, const std::vector<base::IpAddress>& addresses,
                            const std::string& interface, const base::Deadline& deadline);

} // namespace rdmanet::attach
