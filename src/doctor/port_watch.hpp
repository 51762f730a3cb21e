// Two samples of the counters of ports, while the doctor looks at other things.
#pragma once

#include "port_counters.hpp"

#include <rdmanet/base/interface_name.hpp>
#include <rdmanet/inventory/inventory.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace rdmanet::doctor {

class PortWatch {
public:
    struct Port {
        const inventory::Device* device = nullptr;
        base::InterfaceName interface;
        std::vector<PortCounter> counters;
        std::chrono::steady_clock::time_point at; // of the sample
    };
    struct Growth {
        const inventory::Device* device = nullptr;
        std::string interface;
        std::vector<PortCounter> counters; // PortCounter::value is the growth
        std::chrono::milliseconds period{};
    };

    /// `inventory` must outlive this.
    explicit PortWatch(const inventory::Inventory& inventory) : inventory_(inventory) {}

    /// Takes the first sample, of the PFs with RDMA that are up. If they cannot be asked, there is none.
    void begin();

    /// Whether a driver has counters that are known.
    [[nodiscard]] bool has_counters() const { return !ports_.empty(); }

    /// What grew since the first sample. If all counters are zero, nothing is happening, and this takes no second
    /// sample. Otherwise it waits until 250 ms after the first. Throws base::SystemError.
    [[nodiscard]] std::vector<Growth> list_growth() const;

private:
    const inventory::Inventory& inventory_;
    std::vector<Port> ports_;
};

} // namespace rdmanet::doctor
