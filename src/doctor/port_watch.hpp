// Two samples of the counters of ports, while the doctor looks at other things.
#pragma once

#include "port_counters.hpp"

#include <rdmanet/inventory/inventory.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace rdmanet::doctor {

class PortWatch {
public:
    struct Port {
        const inventory::Device* device = nullptr;
        const inventory::NetDevice* net = nullptr;
        std::vector<PortCounter> counters;
        std::chrono::steady_clock::time_point at; // of the sample
    };
    struct Growth {
        const inventory::Device* device = nullptr;
        const inventory::NetDevice* net = nullptr;
        std::vector<PortCounter> counters; // PortCounter::value is the growth
        std::chrono::milliseconds period{};
    };

    /// `inventory` must outlive this.
    explicit PortWatch(const inventory::Inventory& inventory) : inventory_(inventory) {}

    /// Takes the first sample, of the PFs with RDMA that are up. If they cannot be asked, there is none.
    void begin();

    /// Why there is no first sample; empty if there is one.
    [[nodiscard]] const std::string& why_not() const { return why_not_; }

    /// What grew since the first sample. If all counters are zero, nothing is happening, and this takes no second
    /// sample. Otherwise it waits until 250 ms after the first. Leaves out interfaces that have gone. Throws what Socket
    /// throws.
    [[nodiscard]] std::vector<Growth> list_growth() const;

private:
    const inventory::Inventory& inventory_;
    std::vector<Port> ports_;
    std::string why_not_ = "the ports were not looked at";
};

} // namespace rdmanet::doctor
