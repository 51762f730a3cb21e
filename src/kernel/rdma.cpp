#include <rdmanet/kernel/rdma.hpp>

#include "message.hpp"
#include "parse.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/device.hpp>

#include <rdma/rdma_netlink.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <iterator>

namespace rdmanet::kernel {
namespace {

using base::quoted;

constexpr int message_type(int command) {
    return RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
}

Message rdma_message(int command) {
    return {message_type(command), 0};
}

/// Sets what is present in a message of that command.
void read_attributes(const nlmsghdr& message, int command, std::initializer_list<Field> fields) {
    if (message.nlmsg_type == message_type(command)) attributes_of(message).read(fields);
}

Message request_to_move(std::uint32_t index, const Netns& netns) {
    Message request = rdma_message(RDMA_NLDEV_CMD_SET);
    request.put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, index);
    request.put_u32(RDMA_NLDEV_NET_NS_FD, static_cast<std::uint32_t>(netns.fd()));
    return request;
}

// enum ib_port_phys_state, with the words of sysfs: drivers/infiniband/core/sysfs.c, phys_state_to_str.
constexpr std::uint8_t kLinkUp = 5;

std::string_view physical_state_text(std::uint8_t state) {
    constexpr std::string_view texts[] = {"unknown",  "sleep",   "polling",       "disabled",
                                          "training", "link up", "link recovery", "test"};
    return texts[state < std::size(texts) ? state : 0];
}

/// The ports of these devices with a net device in the socket's namespace.
std::vector<RdmaPort> list_ports_with_netdev(Socket& rdma, const std::vector<RdmaDevice>& devices) {
    std::vector<RdmaPort> found;
    for (const RdmaDevice& device : devices)
        for (RdmaPort& port : list_rdma_ports(rdma, device))
            if (port.netdev_ifindex) found.push_back(std::move(port));
    return found;
}

/// Those of the device that the link is a net device of.
std::vector<RdmaDevice> devices_beside(const Link& link, const std::vector<RdmaDevice>& all) {
    const auto address = bus_address_of(link.parent_device);
    const auto names = address ? rdma_devices_of(*address) : std::vector<std::string>{};
    std::vector<RdmaDevice> beside;
    std::copy_if(all.begin(), all.end(), std::back_inserter(beside), [&](const RdmaDevice& device) {
        return std::find(names.begin(), names.end(), device.name) != names.end();
    });
    return beside;
}

/// The active port of the link's own device. A look at the ports of all devices takes a request for each, and a node
/// may have a hundred VFs.
std::optional<RdmaPort> find_own_active_port(Socket& rdma, const Link& link, const std::vector<RdmaDevice>& all) {
    for (RdmaPort& port : list_ports_with_netdev(rdma, devices_beside(link, all)))
        if (port.netdev_ifindex == link.ifindex && port.is_active()) return std::move(port);
    return std::nullopt;
}

} // namespace

std::optional<RdmaDevice> parse_rdma_device(const nlmsghdr& message) {
    RdmaDevice device;
    std::optional<std::uint32_t> index;
    read_attributes(message, RDMA_NLDEV_CMD_GET,
                    {{RDMA_NLDEV_ATTR_DEV_INDEX, &index},
                     {RDMA_NLDEV_ATTR_DEV_NAME, &device.name},
                     {RDMA_NLDEV_ATTR_NODE_GUID, &device.node_guid},
                     {RDMA_NLDEV_ATTR_PORT_INDEX, &device.port_count}, // in this answer: the number of ports
                     {RDMA_NLDEV_ATTR_DEV_PROTOCOL, &device.protocol}});
    if (!index) return std::nullopt;
    device.index = *index;
    return device;
}

std::optional<RdmaPort> parse_rdma_port(const nlmsghdr& message) {
    RdmaPort port;
    std::optional<std::uint32_t> index;
    std::uint8_t state = 0;
    read_attributes(message, RDMA_NLDEV_CMD_PORT_GET,
                    {{RDMA_NLDEV_ATTR_DEV_INDEX, &index},
                     {RDMA_NLDEV_ATTR_DEV_NAME, &port.device},
                     {RDMA_NLDEV_ATTR_PORT_INDEX, &port.port},
                     {RDMA_NLDEV_ATTR_PORT_STATE, &state},
                     {RDMA_NLDEV_ATTR_PORT_PHYS_STATE, &port.physical_state},
                     {RDMA_NLDEV_ATTR_LID, &port.lid}, // only for InfiniBand (nldev.c, fill_port_info)
                     {RDMA_NLDEV_ATTR_SM_LID, &port.sm_lid},
                     {RDMA_NLDEV_ATTR_NDEV_INDEX, &port.netdev_ifindex},
                     {RDMA_NLDEV_ATTR_NDEV_NAME, &port.netdev_name}});
    if (!index) return std::nullopt;
    port.device_index = *index;
    port.state = static_cast<PortState>(state);
    return port;
}

RdmaSystem parse_rdma_system(const Answer& answer) {
    // A kernel without the command refuses its number (is_nl_valid(), drivers/infiniband/core/netlink.c).
    if (answer.errno_value == EINVAL) return {};
    if (answer.errno_value != 0)
        throw NetlinkError("read RDMA namespace mode", answer.errno_value, answer.kernel_message);
    // Linux 5.2 only lists: it acknowledges a request for one answer, and sends none.
    if (answer.message == nullptr) return {};
    const Attributes attributes = attributes_of(*answer.message);
    RdmaSystem system;
    if (const auto mode = attributes.find_u8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE))
        system.netns_mode = *mode == 0 ? RdmaNetnsMode::exclusive : RdmaNetnsMode::shared;
    system.copies_on_fork = attributes.find_u8(RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK).value_or(0) != 0;
    return system;
}

// The words of sysfs: drivers/infiniband/core/sysfs.c, state_show.
std::string_view to_string(PortState state) {
    switch (state) {
    case PortState::unknown: break;
    case PortState::down: return "down";
    case PortState::initializing: return "init";
    case PortState::armed: return "armed";
    case PortState::active: return "active";
    case PortState::deferred: return "active-defer";
    }
    return "unknown";
}

std::string RdmaPort::to_string() const {
    return fmt::format("port {} of RDMA device {}", port, quoted(device));
}

std::string RdmaPort::link_name() const {
    return fmt::format("{}/{}", device, port);
}

std::optional<RdmaPort> parse_rdma_link_name(std::string_view name) {
    const std::size_t slash = name.rfind('/');
    if (slash == std::string_view::npos) return std::nullopt;
    const auto port = base::parse_integer<unsigned>(name.substr(slash + 1));
    return port ? std::optional(RdmaPort{.device = std::string(name.substr(0, slash)), .port = *port}) : std::nullopt;
}

bool RdmaPort::has_physical_link() const {
    return physical_state == kLinkUp;
}

std::string RdmaPort::states_text() const {
    std::string text = fmt::format("state {}, physical state {}", state, physical_state_text(physical_state));
    if (lid) text += fmt::format(", LID {}, SM LID {}", *lid, sm_lid.value_or(0));
    return text;
}

RdmaSystem read_rdma_system(Socket& rdma) {
    Message request = rdma_message(RDMA_NLDEV_CMD_SYS_GET);
    return parse_rdma_system(rdma.ask(request));
}

RdmaNetnsMode rdma_netns_mode(Socket& rdma) {
    return read_rdma_system(rdma).mode();
}

std::vector<RdmaDevice> list_rdma_devices(Socket& rdma) {
    Message request = rdma_message(RDMA_NLDEV_CMD_GET);
    return rdma.list<RdmaDevice>(request, "list RDMA devices",
                                 [](const nlmsghdr& message, std::vector<RdmaDevice>& found) {
                                     if (auto device = parse_rdma_device(message)) found.push_back(*std::move(device));
                                 });
}

std::optional<RdmaDevice> find_rdma_device(Socket& rdma, std::string_view name) {
    // The kernel looks up by index only. It lists one device for each part of its answer, and continues by their
    // count (_nldev_get_dumpit(), drivers/infiniband/core/nldev.c). So it skips a device if an earlier one has just
    // moved away. A device that is missing in two equal lists does not exist.
    constexpr int kMostLists = 50;
    std::vector<std::uint32_t> earlier;
    for (int lists = 0; lists < kMostLists; ++lists) {
        std::vector<std::uint32_t> indices;
        for (RdmaDevice& device : list_rdma_devices(rdma)) {
            if (device.name == name) return std::move(device);
            indices.push_back(device.index);
        }
        if (lists > 0 && indices == earlier) break;
        earlier = std::move(indices);
    }
    return std::nullopt;
}

std::optional<RdmaDevice> find_rdma_device(Socket& rdma, std::uint32_t index) {
    Message request = rdma_message(RDMA_NLDEV_CMD_GET);
    request.put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, index);
    const Answer answer = rdma.ask(request);
    // nldev.c, nldev_get_doit: EINVAL means that the namespace has no device with this index.
    if (answer.errno_value == EINVAL || answer.errno_value == ENODEV) return std::nullopt;
    if (answer.errno_value != 0)
        throw NetlinkError(fmt::format("look up RDMA device number {}", index), answer.errno_value,
                           answer.kernel_message);
    return answer.message == nullptr ? std::nullopt : parse_rdma_device(*answer.message);
}

std::vector<RdmaPort> list_rdma_ports(Socket& rdma, const RdmaDevice& device) try {
    Message request = rdma_message(RDMA_NLDEV_CMD_PORT_GET);
    request.put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, device.index);
    return rdma.list<RdmaPort>(request, fmt::format("list ports of RDMA device {}", quoted(device.name)),
                               [&](const nlmsghdr& message, std::vector<RdmaPort>& found) {
                                   auto port = parse_rdma_port(message);
                                   if (port && port->device_index == device.index) found.push_back(*std::move(port));
                               });
} catch (const NetlinkError& error) {
    if (error.errno_value() == EINVAL || error.errno_value() == ENODEV) return {};
    throw;
}

std::optional<RdmaPort> find_rdma_port(Socket& rdma, const Link& link) {
    return find_rdma_port(rdma, link, list_rdma_devices(rdma));
}

std::optional<RdmaPort> find_rdma_port(Socket& rdma, const Link& link, const std::vector<RdmaDevice>& devices) {
    if (auto own = find_own_active_port(rdma, link, devices)) return own;
    const std::vector<RdmaPort> ports = list_ports_with_netdev(rdma, devices);
    std::optional<Socket> route; // most parents are physical and need none
    std::vector<Link> level{link};
    // Interfaces are stacked at most eight deep (linux/netdevice.h, MAX_NEST_DEV).
    for (int depth = 0; depth < 8 && !level.empty() && !ports.empty(); ++depth) {
        std::vector<RdmaPort> found;
        for (const Link& upper : level)
            std::copy_if(ports.begin(), ports.end(), std::back_inserter(found),
                         [&](const RdmaPort& port) { return port.netdev_ifindex == upper.ifindex; });
        const auto active = std::find_if(found.begin(), found.end(), std::mem_fn(&RdmaPort::is_active));
        if (!found.empty()) return active == found.end() ? found.front() : *active;
        if (!route) route = Socket::open(Protocol::route, rdma.deadline());
        level = list_lower_links(*route, level);
    }
    return std::nullopt;
}

std::optional<std::string> find_netdev_of_rdma_device(std::string_view device, const base::Deadline& deadline) {
    auto rdma = Socket::find_rdma(deadline);
    const auto found = rdma ? find_rdma_device(*rdma, device) : std::nullopt;
    if (!found) return std::nullopt;
    for (RdmaPort& port : list_rdma_ports(*rdma, *found))
        if (!port.netdev_name.empty()) return std::move(port.netdev_name);
    return std::nullopt;
}

bool is_rdma_device_movable(Socket& rdma, std::uint32_t index, const Netns& elsewhere) try {
    const Netns home = Netns::current();
    if (home == elsewhere) return true; // otherwise the kernel would move it and recreate the device
    Message request = request_to_move(index, home);
    const NetnsScope scope(elsewhere);
    rdma.execute(request, fmt::format("ask whether RDMA device number {} can move", index));
    return true;
} catch (const NetlinkError& error) {
    if (error.errno_value() == ENODEV || error.errno_value() == EOPNOTSUPP) return error.errno_value() == ENODEV;
    throw;
}

void move_rdma_device(Socket& rdma, std::uint32_t index, const Netns& netns) {
    Message request = request_to_move(index, netns);
    rdma.execute(request, fmt::format("move RDMA device number {} to another network namespace", index));
}

void rename_rdma_device(Socket& rdma, std::uint32_t index, std::string_view name) {
    Message request = rdma_message(RDMA_NLDEV_CMD_SET);
    request.put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, index);
    request.put_text(RDMA_NLDEV_ATTR_DEV_NAME, name);
    rdma.execute(request, fmt::format("rename RDMA device number {} to {}", index, quoted(name)));
}

} // namespace rdmanet::kernel
