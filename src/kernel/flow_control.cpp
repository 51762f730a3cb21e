#include "flow_control_parse.hpp"

#include "generic_family.hpp"
#include "message.hpp"

#include <linux/dcbnl.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cstring>

namespace rdmanet::kernel {
namespace {

std::optional<FlowControl> find_priorities(Socket& route, const std::string& interface) {
    Message request(RTM_GETDCB, 0, dcbmsg{.dcb_family = AF_UNSPEC, .cmd = DCB_CMD_IEEE_GET, .dcb_pad = 0});
    request.put_text(DCB_ATTR_IFNAME, interface);
    const Answer answer = route.ask(request);
    if (answer.errno_value != 0 || answer.message == nullptr) return std::nullopt;
    return parse_priorities(*answer.message);
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

std::optional<FlowControl> parse_priorities(const nlmsghdr& message) {
    const auto parsed = parse_message<dcbmsg>(message, RTM_GETDCB);
    if (!parsed) return std::nullopt;
    const Attributes ieee = parsed->second.nest(DCB_ATTR_IEEE);
    const auto pfc = ieee.find_value<ieee_pfc>(DCB_ATTR_IEEE_PFC);
    if (!pfc) return std::nullopt;
    FlowControl flow{.pfc = pfc->pfc_en};
    for (const Bytes bytes : ieee.nest(DCB_ATTR_IEEE_APP_TABLE).find_all(DCB_ATTR_IEEE_APP)) {
        dcb_app app;
        if (bytes.size() != sizeof app) continue;
        std::memcpy(&app, bytes.data(), sizeof app);
        if (app.selector == IEEE_8021QAZ_APP_SEL_DSCP)
            flow.dscp_priorities.insert_or_assign(static_cast<std::uint8_t>(app.protocol), app.priority);
    }
    return flow;
}

std::optional<FlowControl> find_flow_control(Socket& route, Socket& generic, const std::string& interface,
                                             unsigned ifindex) {
    auto flow = find_priorities(route, interface);
    if (flow) flow->global_pause = flow->pfc != 0 && has_global_pause(generic, ifindex);
    return flow;
}

} // namespace rdmanet::kernel
