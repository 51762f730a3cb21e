#include <rdmanet/kernel/devlink.hpp>

#include "generic_family.hpp"
#include "message.hpp"

#include <linux/devlink.h>
#include <linux/genetlink.h>

namespace rdmanet::kernel {
namespace {

Message request_about(int family, devlink_command command, const base::BusAddress& device) {
    Message request(
        family, 0,
        genlmsghdr{.cmd = static_cast<std::uint8_t>(command), .version = DEVLINK_GENL_VERSION, .reserved = 0});
    request.put_text(DEVLINK_ATTR_BUS_NAME, to_string(device.bus()));
    request.put_text(DEVLINK_ATTR_DEV_NAME, device.to_string());
    return request;
}

} // namespace

std::string_view to_string(DevlinkMode mode) {
    switch (mode) {
    case DevlinkMode::runtime: return "runtime";
    case DevlinkMode::driverinit: return "driverinit";
    case DevlinkMode::permanent: break;
    }
    return "permanent";
}

std::optional<Devlink> Devlink::find(Socket generic) {
    const auto family = find_loaded_family(generic, DEVLINK_GENL_NAME);
    if (!family) return std::nullopt;
    return Devlink(std::move(generic), *family);
}

std::optional<DevlinkSwitch> Devlink::find_switch(const base::BusAddress& device, std::string_view parameter) {
    Message request = request_about(family_, DEVLINK_CMD_PARAM_GET, device);
    request.put_text(DEVLINK_ATTR_PARAM_NAME, parameter);
    const Answer answer = socket_.ask(request);
    if (answer.errno_value != 0 || answer.message == nullptr) return std::nullopt;
    const auto parsed = parse_message<genlmsghdr>(*answer.message, family_);
    if (!parsed) return std::nullopt;
    const Attributes value =
        parsed->second.nest(DEVLINK_ATTR_PARAM).nest(DEVLINK_ATTR_PARAM_VALUES_LIST).nest(DEVLINK_ATTR_PARAM_VALUE);
    const auto mode = value.find_u8(DEVLINK_ATTR_PARAM_VALUE_CMODE);
    if (!mode || *mode > DEVLINK_PARAM_CMODE_MAX) return std::nullopt;
    // A flag: the attribute is there if the value is true (devlink_nl_param_value_fill_one(), net/devlink).
    return DevlinkSwitch{.is_on = value.find(DEVLINK_ATTR_PARAM_VALUE_DATA).has_value(),
                         .mode = static_cast<DevlinkMode>(*mode)};
}

bool Devlink::is_switchdev(const base::BusAddress& device) {
    Message request = request_about(family_, DEVLINK_CMD_ESWITCH_GET, device);
    const Answer answer = socket_.ask(request);
    if (answer.errno_value != 0 || answer.message == nullptr) return false;
    const auto parsed = parse_message<genlmsghdr>(*answer.message, family_);
    return parsed && parsed->second.find_u16(DEVLINK_ATTR_ESWITCH_MODE) == DEVLINK_ESWITCH_MODE_SWITCHDEV;
}

} // namespace rdmanet::kernel
