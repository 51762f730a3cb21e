// Statistics that the driver of an interface keeps, as `ethtool -S` shows them. Netlink has only the few that are
// standardized (ETHTOOL_MSG_STATS_GET), so this is ioctl(2), linux/ethtool.h.
#pragma once

#include <rdmanet/base/interface_name.hpp>
#include <rdmanet/base/unique_fd.hpp>
#include <rdmanet/kernel/netns.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::kernel {

struct Statistic {
    std::string name; // the driver's own: "rx_prio3_pause"
    std::uint64_t value = 0;
};

/// Asks about interfaces of one network namespace.
class StatisticsReader {
public:
    /// In the calling thread's namespace. Throws base::SystemError.
    [[nodiscard]] static StatisticsReader open();
    /// Enters `netns` and comes back. Throws base::SystemError.
    [[nodiscard]] static StatisticsReader open_in(const Netns& netns);

    /// In the driver's order. Empty if the driver has none, or the interface is gone. Drivers ask the firmware, which
    /// takes milliseconds. For an absent interface the kernel would look for a module "netdev-NAME" (dev_load(),
    /// net/core/dev_ioctl.c), so ask only for one that was there a moment ago.
    [[nodiscard]] std::vector<Statistic> list(const base::InterfaceName& interface) const;

private:
    explicit StatisticsReader(base::UniqueFd fd) : fd_(std::move(fd)) {}

    base::UniqueFd fd_;
};

} // namespace rdmanet::kernel
