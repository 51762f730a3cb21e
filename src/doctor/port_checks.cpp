// What happens at Ethernet ports: room for priorities with PFC, pauses, and losses.
#include "checks.hpp"
#include "port_watch.hpp"
#include "ports.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace rdmanet::doctor {
namespace {

using inventory::NetDevice;

/// A priority without PFC that has the same buffer.
std::optional<unsigned> find_lossy_neighbour(const kernel::FlowControl& flow, unsigned priority) {
    for (unsigned other = 0; other < kernel::kPriorities; ++other)
        if (!has_pfc(flow, other) && flow.buffers->of_priority[other] == flow.buffers->of_priority[priority])
            return other;
    return std::nullopt;
}

/// The buffer of each priority, after the fixes that were given.
using Plan = std::array<std::uint8_t, kernel::kPriorities>;

/// The priority's own buffer if it shares it with no other, or else a free one. The seven other priorities leave at
/// least one of the eight free. Buffer 0 is the last choice: drivers use it for priorities that nobody has configured.
unsigned find_free_buffer(const Plan& plan, unsigned priority) {
    constexpr unsigned kBuffers = kernel::kPriorities;
    const auto is_free = [&](unsigned buffer) {
        for (unsigned other = 0; other < plan.size(); ++other)
            if (other != priority && plan[other] == buffer) return false;
        return true;
    };
    if (plan[priority] < kBuffers && is_free(plan[priority])) return plan[priority];
    for (unsigned buffer = 1; buffer < kBuffers; ++buffer)
        if (is_free(buffer)) return buffer;
    return 0;
}

std::string fix_of_buffers(const NetDevice& net, Plan& plan, unsigned priority) {
    const unsigned buffer = find_free_buffer(plan, priority);
    plan[priority] = static_cast<std::uint8_t>(buffer);
    return fmt::format("give priority {0} a buffer of its own with room: `dcb buffer set dev {1} prio-buffer {0}:{2} "
                       "buffer-size {2}:BYTES`. If `dcb buffer show dev {1}` shows that the others use up the total, "
                       "make another one smaller first",
                       priority, base::shell_word(net.name), buffer);
}

/// What is wrong with the buffer of a priority with PFC: one that is full of packets of other priorities has no room
/// for those that PFC keeps from being lost.
std::optional<std::string> find_fault(const kernel::FlowControl& flow, const NetDevice& net, unsigned priority) {
    const unsigned buffer = flow.buffers->of_priority[priority];
    const bool has_room = buffer < flow.buffers->sizes.size() && flow.buffers->sizes[buffer] != 0;
    if (!has_room)
        return fmt::format("priority {} of {} has PFC, and its buffer {} has 0 bytes", priority, net.name, buffer);
    if (const auto other = find_lossy_neighbour(flow, priority))
        return fmt::format("priority {} of {} has PFC, and shares buffer {} with priority {}, which has none", priority,
                           net.name, buffer, *other);
    return std::nullopt;
}

void check_buffers(const Context& context, Findings& found) {
    for_each_port(context, [&](const inventory::Device& device, const NetDevice& net, const kernel::FlowControl& flow) {
        if (!flow.buffers) return;
        Plan plan = flow.buffers->of_priority;
        for (unsigned priority = 0; priority < kernel::kPriorities; ++priority)
            if (const auto fault = has_pfc(flow, priority) ? find_fault(flow, net, priority) : std::nullopt)
                found.info(subject_of(device), *fault, fix_of_buffers(net, plan, priority));
    });
}

void check_storm(const Context& context, Findings& found) {
    if (!context.port_watch.why_not().empty()) throw base::Error(context.port_watch.why_not());
    for (const PortWatch::Growth& port : context.port_watch.list_growth()) {
        const unsigned pfc = port.net->flow_control ? port.net->flow_control->pfc : 0U;
        for (const PortTrouble& trouble : judge(port.counters, port.period, port.net->name, pfc))
            if (trouble.severity == Severity::info)
                found.info(subject_of(*port.device), trouble.what, trouble.fix);
            else
                found.warning(subject_of(*port.device), trouble.what, trouble.fix);
    }
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
