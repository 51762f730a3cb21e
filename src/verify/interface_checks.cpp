#include "end_checks.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/pkey.hpp>

#include <cstdint>
#include <string>

namespace rdmanet::verify {
namespace {

using inventory::Interface;

std::string partitions_of(const Interface& interface) {
    if (interface.pkeys.empty()) return "none";
    return base::join(interface.pkeys, ", ", [](const auto& each) { return fmt::format("{:#06x}", each.pkey); });
}

bool check_interface(EndChecks& checks, const Interface* interface) {
    if (interface == nullptr)
        return checks.failed("interface", "the pod has no interface that can use RDMA",
                             "give the pod the annotation k8s.v1.cni.cncf.io/networks with a network of rdmanet");
    const inventory::NetDevice& net = interface->net;
    Endpoint& end = checks.endpoint();
    end.interface = net.name;
    end.ifindex = net.ifindex;
    if (!net.is_up)
        return checks.failed(
            "interface", fmt::format("interface {} is down", net.name),
            fmt::format("`ip link set {} up` in the pod, or delete the pod", base::shell_word(net.name)));
    return true;
}

/// Comes before the carrier, which IPoIB has only in a partition of its port (ipoib_pkey_dev_check_presence(),
/// drivers/infiniband/ulp/ipoib/ipoib_ib.c).
bool check_partition(EndChecks& checks, const Interface& interface) {
    if (!interface.pkey || interface.rdma_device.empty()) return true;
    checks.endpoint().is_infiniband = true;
    const auto entry = kernel::find_partition(interface.pkeys, *interface.pkey);
    if (!entry)
        return checks.failed("partition",
                             fmt::format("{} is in partition {:#06x}, and its port {}/{} is not: the port's partitions "
                                         "are {}",
                                         interface.net.name, *interface.pkey, interface.rdma_device,
                                         interface.rdma_port, partitions_of(interface)),
                             "let the subnet manager add the port to the partition, or change the network's \"pkey\"");
    checks.endpoint().pkey = entry->pkey;
    checks.endpoint().pkey_index = static_cast<std::uint16_t>(entry->index);
    return checks.passed("partition", fmt::format("{:#06x}, index {}", entry->pkey, entry->index));
}

bool check_carrier(EndChecks& checks, const inventory::NetDevice& net) {
    if (!net.has_carrier)
        return checks.failed("interface", fmt::format("interface {} has no carrier", net.name),
                             "bring the parent or PF up, and check its cable");
    return checks.passed("interface", fmt::format("up, MTU {}", net.mtu));
}

/// Programs use the pod's address, even where another address would be enough for the test.
bool check_addresses(EndChecks& checks, const Interface& interface) {
    if (interface.lost.empty()) return true;
    const std::string what =
        fmt::format("{} has lost {}, which rdmanet gave it", interface.net.name, base::join(interface.lost));
    const std::string fix = "delete the pod: its next one gets its addresses anew";
    if (interface.addresses.empty() && !interface.pkey) return checks.failed("addresses", what, fix);
    return checks.warned("addresses", what, fix);
}

} // namespace

bool check_interface_of(EndChecks& checks, const Interface* interface) {
    return check_interface(checks, interface) && check_partition(checks, *interface) &&
           check_carrier(checks, interface->net) && check_addresses(checks, *interface);
}

} // namespace rdmanet::verify
