// The mark that drivers of NVIDIA's OFED give all RoCE packets of a port.
#include "checks.hpp"
#include "files.hpp"
#include "ports.hpp"

#include <rdmanet/base/text.hpp>

#include <optional>

namespace rdmanet::doctor {
namespace {

/// "Global tclass=106": eight bits, of which the upper six are the DSCP. Without the line, programs choose.
std::optional<unsigned> read_traffic_class(const std::string& file) {
    constexpr std::string_view kKey = "Global tclass=";
    const std::string line = line_of(file);
    if (!line.starts_with(kKey)) return std::nullopt;
    const auto value = base::parse_integer<unsigned>(std::string_view(line).substr(kKey.size()));
    return value && *value < 256 ? value : std::nullopt;
}

/// As `dcb app` or mlnx_qos has set it. Otherwise the NIC takes the upper three bits.
unsigned priority_of(const kernel::FlowControl& flow, unsigned dscp) {
    const auto at = flow.dscp_priorities.find(static_cast<std::uint8_t>(dscp));
    return at == flow.dscp_priorities.end() ? dscp >> 3U : at->second;
}

void compare(const Context& context, const inventory::Device& device, const inventory::NetDevice& net,
             const kernel::FlowControl& flow, Findings& found) {
    for (const inventory::RdmaDevice& rdma : device.rdma)
        for (const inventory::RdmaPort& port : rdma.ports) {
            const std::string file =
                fmt::format("/sys/class/infiniband/{}/tc/{}/traffic_class", rdma.name, port.number);
            const auto traffic_class = read_traffic_class(context.path(file));
            if (!traffic_class || (!port.net_device.empty() && port.net_device != net.name)) continue;
            const unsigned dscp = *traffic_class >> 2U;
            const unsigned priority = priority_of(flow, dscp);
            if (has_pfc(flow, priority)) continue;
            found.info(subject_of(device),
                       fmt::format("the traffic class of {} is {}, so its packets have DSCP {} and priority {}, whose "
                                   "PFC is off",
                                   rdma.name, *traffic_class, dscp, priority),
                       fmt::format("`dcb pfc set dev {} prio-pfc {}:on`, and the same on the switch; or write the "
                                   "traffic class of a priority with PFC to {}",
                                   base::shell_word(net.name), priority, base::shell_word(file)));
        }
}

/// A port that takes the priority from the VLAN tag does not look at the DSCP. PFC that is off altogether is a finding
/// of another check.
void check_traffic_class(const Context& context, Findings& found) {
    for_each_port(context, [&](const inventory::Device& device, const inventory::NetDevice& net,
                               const kernel::FlowControl& flow) {
        const std::string trust = line_of(context.path(fmt::format("/sys/class/net/{}/qos/trust", net.name)));
        if (flow.pfc != 0 && trust != "pcp") compare(context, device, net, flow, found);
    });
}

constexpr Check kTrafficClassChecks[] = {
    {{"traffic-class", Layer::network, "priority of the packets of a port (OFED)"}, check_traffic_class},
};

} // namespace

std::span<const Check> traffic_class_checks() {
    return kTrafficClassChecks;
}

} // namespace rdmanet::doctor
