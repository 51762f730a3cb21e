#include "ipoib.hpp"

#include <linux/if.h>

#include <algorithm>
#include <bit>

namespace rdmanet::attach {
namespace {

// IPOIB_CM_MTU, and IPOIB_UD_MTU() of the largest InfiniBand packet, 4096 bytes
// (drivers/infiniband/ulp/ipoib/ipoib.h).
constexpr unsigned kMostConnected = 65520;
constexpr unsigned kMostDatagram = 4092;

/// An interface in datagram mode gets its carrier after it has joined its broadcast group and has the group's MTU
/// (ipoib_mcast_carrier_on_task()). IFF_RUNNING does not tell: it is set earlier, until the link watch has run
/// (dev_get_flags(), net/core/dev.c).
bool has_joined(const kernel::Link& link) {
    return (link.flags & IFF_LOWER_UP) != 0;
}

/// Whether it is IPOIB_UD_MTU() of an InfiniBand packet size, 256 to 4096 bytes.
bool is_group_mtu(unsigned mtu) {
    constexpr unsigned kEncapsulation = 4;
    return mtu >= 252 && std::has_single_bit(mtu + kEncapsulation);
}

} // namespace

kernel::Ipoib ipoib_child(const config::Config& config, const kernel::Link& parent) {
    kernel::Ipoib child = std::get<config::Ipoib>(config.attach);
    const kernel::Ipoib of_parent = parent.ipoib.value_or(kernel::Ipoib{});
    if (!child.pkey) child.pkey = of_parent.pkey;
    if (!child.mode) child.mode = of_parent.mode;
    return child;
}

unsigned most_mtu_of_ipoib(const config::Config& config, const kernel::Link& parent) {
    const bool connected = ipoib_child(config, parent).mode == kernel::IpoibMode::connected;
    if (connected == is_connected(parent)) return parent.mtu;
    return connected ? kMostConnected : kMostDatagram;
}

std::optional<unsigned> mtu_when_joined(const kernel::Link& link, const kernel::Link* parent) {
    if (is_connected(link)) return link.mtu;
    if (parent == nullptr || is_connected(*parent)) return std::nullopt;
    return std::min(link.mtu, parent->mtu);
}

std::optional<unsigned> mtu_of_device_when_joined(const kernel::Link& link, const kernel::Link* pf) {
    if (is_connected(link) || has_joined(link)) return link.mtu;
    const bool same_group = pf != nullptr && link.ipoib && pf->ipoib && link.ipoib->pkey == pf->ipoib->pkey;
    if (!same_group || is_connected(*pf) || !has_joined(*pf)) return std::nullopt;
    // The administrator may have lowered the PF's MTU, so the group's MTU is at least the PF's.
    if (link.mtu <= pf->mtu) return link.mtu;
    return is_group_mtu(pf->mtu) ? std::optional(pf->mtu) : std::nullopt;
}

bool is_connected(const kernel::Link& link) {
    return link.ipoib && link.ipoib->mode == kernel::IpoibMode::connected;
}

} // namespace rdmanet::attach
