#include "rdma_parse.hpp"

#include "message.hpp"

#include <rdma/rdma_netlink.h>

#include <cerrno>
#include <utility>

namespace rdmanet::kernel {
namespace {

constexpr int message_type(int command) {
    return RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
}

/// NETLINK_RDMA has no family header: attributes follow the netlink header.
std::optional<Attributes> attributes_of(const nlmsghdr& message, int command) {
    if (message.nlmsg_type != message_type(command)) return std::nullopt;
    return Attributes(payload_of(message));
}

void append_of_kernel(const Attributes& list, int entry, std::vector<KernelQueuePair>& found) {
    for (const Bytes bytes : list.find_all(entry)) {
        const Attributes attributes(bytes);
        const auto number = attributes.find_u32(RDMA_NLDEV_ATTR_RES_LQPN);
        std::string module = attributes.text(RDMA_NLDEV_ATTR_RES_KERN_NAME);
        if (number && !module.empty()) found.push_back({*number, std::move(module)});
    }
}

} // namespace

std::optional<RdmaDevice> parse_rdma_device(const nlmsghdr& message) {
    const auto attributes = attributes_of(message, RDMA_NLDEV_CMD_GET);
    const auto index = attributes ? attributes->find_u32(RDMA_NLDEV_ATTR_DEV_INDEX) : std::nullopt;
    if (!index) return std::nullopt;
    RdmaDevice device;
    device.index = *index;
    device.name = attributes->text(RDMA_NLDEV_ATTR_DEV_NAME);
    device.node_guid = attributes->find_u64(RDMA_NLDEV_ATTR_NODE_GUID).value_or(0);
    device.port_count =
        attributes->find_u32(RDMA_NLDEV_ATTR_PORT_INDEX).value_or(0); // in this answer: the number of ports
    device.protocol = attributes->text(RDMA_NLDEV_ATTR_DEV_PROTOCOL);
    return device;
}

std::optional<RdmaPort> parse_rdma_port(const nlmsghdr& message) {
    const auto attributes = attributes_of(message, RDMA_NLDEV_CMD_PORT_GET);
    const auto index = attributes ? attributes->find_u32(RDMA_NLDEV_ATTR_DEV_INDEX) : std::nullopt;
    if (!index) return std::nullopt;
    RdmaPort port;
    port.device_index = *index;
    port.device = attributes->text(RDMA_NLDEV_ATTR_DEV_NAME);
    port.port = attributes->find_u32(RDMA_NLDEV_ATTR_PORT_INDEX).value_or(0);
    port.state = static_cast<PortState>(attributes->find_u8(RDMA_NLDEV_ATTR_PORT_STATE).value_or(0));
    port.physical_state = attributes->find_u8(RDMA_NLDEV_ATTR_PORT_PHYS_STATE).value_or(0);
    port.lid = attributes->find_u32(RDMA_NLDEV_ATTR_LID); // only for InfiniBand (nldev.c, fill_port_info)
    port.sm_lid = attributes->find_u32(RDMA_NLDEV_ATTR_SM_LID);
    port.netdev_ifindex = attributes->find_u32(RDMA_NLDEV_ATTR_NDEV_INDEX);
    port.netdev_name = attributes->text(RDMA_NLDEV_ATTR_NDEV_NAME);
    return port;
}

RdmaSystem parse_rdma_system(const Answer& answer) {
    // A kernel without the command refuses its number (is_nl_valid(), drivers/infiniband/core/netlink.c).
    if (answer.errno_value == EINVAL) return {};
    if (answer.errno_value != 0)
        throw NetlinkError("read RDMA namespace mode", answer.errno_value, answer.kernel_message);
    // Linux 5.2 only lists: it acknowledges a request for one answer, and sends none.
    if (answer.message == nullptr) return {};
    const Attributes attributes(payload_of(*answer.message));
    RdmaSystem system;
    if (const auto mode = attributes.find_u8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE))
        system.netns_mode = *mode == 0 ? RdmaNetnsMode::exclusive : RdmaNetnsMode::shared;
    system.copies_on_fork = attributes.find_u8(RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK).value_or(0) != 0;
    return system;
}

std::vector<KernelQueuePair> parse_kernel_queue_pairs(const nlmsghdr& message) {
    const Attributes attributes(payload_of(message));
    std::vector<KernelQueuePair> found;
    append_of_kernel(attributes.nest(RDMA_NLDEV_ATTR_RES_QP), RDMA_NLDEV_ATTR_RES_QP_ENTRY, found);
    append_of_kernel(attributes.nest(RDMA_NLDEV_ATTR_RES_CM_ID), RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY, found);
    return found;
}

} // namespace rdmanet::kernel
