// Asks the network whether another host has an address, before the address is used.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/mac_address.hpp>
#include <rdmanet/base/unique_fd.hpp>
#include <rdmanet/kernel/netns.hpp>

#include <chrono>
#include <optional>
#include <span>

namespace rdmanet::kernel {

struct AddressHolder {
    base::IpAddress address;
    base::MacAddress mac;
};

/// Probes both families at the same time. RFC 5227, section 1.1, and RFC 4861, section 10, count in seconds, for
/// links of any speed. A host that is awake on the same Ethernet answers within milliseconds. Three probes, as in RFC
/// 5227.
class AddressProber {
public:
    static constexpr unsigned kProbes = 3;
    static constexpr std::chrono::milliseconds kInterval{100}; // between two probes, and after the last

    /// A raw packet socket in `netns`, on an Ethernet interface that is up and has a carrier. Throws base::SystemError.
    AddressProber(const Netns& netns, unsigned ifindex, const base::MacAddress& mac);

    /// The first host that shows that it has one of the addresses. nullopt if none does within kProbes * kInterval,
    /// or by the deadline. Throws base::SystemError (ENETDOWN: the interface went down).
    [[nodiscard]] std::optional<AddressHolder> find_holder(std::span<const base::IpAddress> addresses,
                                                           const base::Deadline& deadline) const;

    /// Announces the addresses to all neighbours. Throws base::SystemError.
    void announce(std::span<const base::IpAddress> addresses) const;

private:
    void join(const base::MacAddress::Bytes& group) const;
    void send(std::span<const unsigned char> frame) const;
    [[nodiscard]] std::optional<AddressHolder> listen(std::span<const base::IpAddress> addresses,
                                                      const base::Deadline& until) const;

    base::UniqueFd fd_;
    unsigned ifindex_;
    base::MacAddress mac_;
};

} // namespace rdmanet::kernel
