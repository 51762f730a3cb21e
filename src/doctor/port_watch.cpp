#include "port_watch.hpp"

#include "context.hpp"
#include "host_socket.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/interface_name.hpp>
#include <rdmanet/kernel/link.hpp>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

namespace rdmanet::doctor {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPeriod{250};

/// A representor has none of the port's counters.
bool is_port(const inventory::Device& device, const inventory::NetDevice& net) {
    return device.pci && is_host_parent(device, net) && net.is_up && net.kind.empty() &&
           (!device.is_switchdev || net.flow_control);
}

/// Whether the interface is there now. Asking for an absent one could load a module.
std::optional<base::InterfaceName> find_name(kernel::Socket& route, const inventory::NetDevice& net) {
    const auto link = kernel::find_link(route, net.ifindex);
    return link && link->name == net.name ? base::InterfaceName::parse(net.name) : std::nullopt;
}

} // namespace

void PortWatch::begin() try {
    kernel::Socket route = open_on_host(inventory_, kernel::Protocol::route);
    const kernel::StatisticsReader reader = open_statistics_on_host(inventory_);
    bool any = false;
    for (const inventory::Device& device : inventory_.devices)
        for (const inventory::NetDevice& net : device.net) {
            const auto name = is_port(device, net) ? find_name(route, net) : std::nullopt;
            if (!name) continue;
            any = true;
            const auto now = Clock::now();
            auto counters = port_counters_of(reader.list(*name));
            if (!counters.empty())
                ports_.push_back({.device = &device, .net = &net, .counters = std::move(counters), .at = now});
        }
    why_not_ = any ? "no driver of an RDMA port counts pause frames" : "no PF with RDMA is up on the host";
    if (!ports_.empty()) why_not_.clear();
} catch (const base::Error& error) {
    ports_.clear();
    why_not_ = error.what();
}

std::vector<PortWatch::Growth> PortWatch::list_growth() const {
    const bool is_quiet = std::ranges::all_of(ports_, [](const Port& port) {
        return std::ranges::all_of(port.counters, [](const PortCounter& each) { return each.value == 0; });
    });
    if (is_quiet) return {};
    std::this_thread::sleep_until(ports_.back().at + kPeriod);
    kernel::Socket route = open_on_host(inventory_, kernel::Protocol::route);
    const kernel::StatisticsReader reader = open_statistics_on_host(inventory_);
    std::vector<Growth> all;
    for (const Port& port : ports_) {
        const auto name = find_name(route, *port.net);
        if (!name) continue;
        const auto now = Clock::now();
        all.push_back({.device = port.device,
                       .net = port.net,
                       .counters = growth_of(port.counters, port_counters_of(reader.list(*name))),
                       .period = std::chrono::duration_cast<std::chrono::milliseconds>(now - port.at)});
    }
    return all;
}

} // namespace rdmanet::doctor
