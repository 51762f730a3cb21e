// Interfaces and routes of the host's network namespace.
#pragma once

#include <rdmanet/inventory/inventory.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/route.hpp>

#include <optional>
#include <vector>

namespace rdmanet::doctor {

/// Dumps each of them once, when somebody first asks: a cluster can have hundreds of networks.
class HostLinks {
public:
    /// Reads nothing. The inventory must live longer.
    explicit HostLinks(const inventory::Inventory& inventory) : inventory_(inventory) {}

    /// Throw base::SystemError and kernel::NetlinkError.
    [[nodiscard]] const std::vector<kernel::Link>& links();
    [[nodiscard]] const std::vector<kernel::Route>& routes(); // of the main table

private:
    const inventory::Inventory& inventory_;
    std::optional<std::vector<kernel::Link>> links_;
    std::optional<std::vector<kernel::Route>> routes_;
};

} // namespace rdmanet::doctor
