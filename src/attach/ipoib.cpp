#include "ipoib.hpp"

#include <algorithm>

namespace rdmanet::attach {
namespace {

// IPOIB_CM_MTU, and IPOIB_UD_MTU() of InfiniBand's largest packet, 4096 bytes (drivers/infiniband/ulp/ipoib/ipoib.h).
constexpr unsigned kMostConnected = 65520;
constexpr unsigned kMostDatagram = 4092;

} // namespace

kernel::Ipoib ipoib_child(const Config& config, const kernel::Link& parent) {
    kernel::Ipoib child = std::get<Ipoib>(config.attach);
    const kernel::Ipoib of_parent = parent.ipoib.value_or(kernel::Ipoib{});
    if (!child.pkey) child.pkey = of_parent.pkey;
    if (!child.mode) child.mode = of_parent.mode;
    return child;
}

unsigned most_mtu_of_ipoib(const Config& config, const kernel::Link& parent) {
    const bool connected = ipoib_child(config, parent).mode == kernel::IpoibMode::connected;
    if (connected == is_connected(parent)) return parent.mtu;
    return connected ? kMostConnected : kMostDatagram;
}

std::optional<unsigned> mtu_when_joined(const kernel::Link& link, const kernel::Link* parent) {
    if (is_connected(link)) return link.mtu;
    if (parent == nullptr || is_connected(*parent)) return std::nullopt;
    return std::min(link.mtu, parent->mtu);
}

bool is_connected(const kernel::Link& link) {
    return link.ipoib && link.ipoib->mode == kernel::IpoibMode::connected;
}

} // namespace rdmanet::attach
