// What happens at Ethernet ports: room for priorities with PFC, pauses, and losses.
#include "checks.hpp"
#include "port_watch.hpp"
#include "ports.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>

namespace rdmanet::doctor {
namespace {

using base::shell_word;
using inventory::Device;
using inventory::NetDevice;

/// A priority without PFC that has the same buffer.
std::optional<unsigned> find_lossy_neighbour(const kernel::FlowControl& flow, unsigned priority) {
    for (unsigned other = 0; other < kernel::kPriorities; ++other)
        if (!has_pfc(flow, other) && flow.buffers->of_priority[other] == flow.buffers->of_priority[priority])
            return other;
    return std::nullopt;
}

std::string cure_of_buffers(const NetDevice& net, unsigned priority) {
    return fmt::format("give priority {0} a buffer of its own with room: `dcb buffer set dev {1} prio-buffer {0}:1 "
                       "buffer-size 1:BYTES`; `dcb buffer show dev {1}` shows them",
                       priority, shell_word(net.name));
}

/// A buffer that is full of packets of other priorities has no room for those that PFC keeps from being lost.
void check_buffers(const Context& context, Findings& found) {
    for_each_port(context, [&](const Device& device, const NetDevice& net, const kernel::FlowControl& flow) {
        for (unsigned priority = 0; flow.buffers && priority < kernel::kPriorities; ++priority) {
            if (!has_pfc(flow, priority)) continue;
            const unsigned buffer = flow.buffers->of_priority[priority];
            const bool has_room = buffer < flow.buffers->sizes.size() && flow.buffers->sizes[buffer] != 0;
            if (!has_room)
                found.info(
                    subject_of(device),
                    fmt::format("priority {} of {} has PFC, and its buffer {} has 0 bytes", priority, net.name, buffer),
                    cure_of_buffers(net, priority));
            else if (const auto other = find_lossy_neighbour(flow, priority))
                found.info(subject_of(device),
                           fmt::format("priority {} of {} has PFC, and shares buffer {} with priority {}, which has "
                                       "none",
                                       priority, net.name, buffer, *other),
                           cure_of_buffers(net, priority));
        }
    });
}

void check_storm(const Context& context, Findings& found) {
    if (!context.port_watch.has_counters()) throw base::Error("no driver of an RDMA port counts pause frames");
    for (const PortWatch::Growth& port : context.port_watch.list_growth())
        for (const PortTrouble& trouble : judge(port.counters, port.period, port.interface))
            found.warning(subject_of(*port.device), trouble.what, trouble.cure);
}

constexpr Check kPortChecks[] = {
    {{"buffers", Layer::network, "buffers of the priorities that have PFC"}, check_buffers},
    {{"storm", Layer::network, "pause frames and losses while the doctor runs"}, check_storm},
};

} // namespace

std::span<const Check> port_checks() {
    return kPortChecks;
}

} // namespace rdmanet::doctor
