#include <rdmanet/kernel/flow_control.hpp>

#include "dcb_parse.hpp"
#include "generic_family.hpp"
#include "message.hpp"

#include <linux/dcbnl.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

namespace rdmanet::kernel {
namespace {

std::optional<FlowControl> find_traffic_classes(Socket& route, const std::string& interface) {
    Message request(RTM_GETDCB, 0, dcbmsg{.dcb_family = AF_UNSPEC, .cmd = DCB_CMD_IEEE_GET, .dcb_pad = 0});
    request.put_text(DCB_ATTR_IFNAME, interface);
    const Answer answer = route.ask(request);
    if (answer.errno_value != 0 || answer.message == nullptr) return std::nullopt;
    const auto parsed = parse_message<dcbmsg>(*answer.message, RTM_GETDCB);
    return parsed ? parse_ieee(parsed->second.nest(DCB_ATTR_IEEE)) : std::nullopt;
}

/// ETHTOOL_GPAUSEPARAM by ioctl(2) would load a module for an interface that is gone (dev_load(),
/// net/core/dev_ioctl.c).
bool has_global_pause(Socket& generic, unsigned ifindex) {
    const auto family = find_loaded_family(generic, ETHTOOL_GENL_NAME);
    if (!family) return false;
    Message request(*family, 0,
                    genlmsghdr{.cmd = ETHTOOL_MSG_PAUSE_GET, .version = ETHTOOL_GENL_VERSION, .reserved = 0});
    request.nest(ETHTOOL_A_PAUSE_HEADER, [&] { request.put_u32(ETHTOOL_A_HEADER_DEV_INDEX, ifindex); });
    const Answer answer = generic.ask(request);
    if (answer.errno_value != 0 || answer.message == nullptr) return false;
    const auto parsed = parse_message<genlmsghdr>(*answer.message, *family);
    const auto is_on = [&](int attribute) { return parsed && parsed->second.find_u8(attribute).value_or(0) != 0; };
    return is_on(ETHTOOL_A_PAUSE_RX) || is_on(ETHTOOL_A_PAUSE_TX);
}

} // namespace

std::optional<FlowControl> find_flow_control(Socket& route, Socket& generic, const std::string& interface,
                                             unsigned ifindex) {
    auto flow = find_traffic_classes(route, interface);
    if (flow) flow->global_pause = flow->pfc != 0 && has_global_pause(generic, ifindex);
    return flow;
}

} // namespace rdmanet::kernel
