#include "generic_family.hpp"

#include "message.hpp"

#include <linux/genetlink.h>

namespace rdmanet::kernel {

std::optional<int> find_loaded_family(Socket& generic, std::string_view name) {
    Message request(GENL_ID_CTRL, 0, genlmsghdr{.cmd = CTRL_CMD_GETFAMILY, .version = 1, .reserved = 0});
    std::optional<int> number;
    // A change elsewhere in the list (NLM_F_DUMP_INTR) does not matter for a family that is in it.
    (void)generic.dump(request, "list families of generic netlink", [&](const nlmsghdr& message) {
        const auto parsed = parse_message<genlmsghdr>(message, GENL_ID_CTRL);
        if (parsed && parsed->second.text(CTRL_ATTR_FAMILY_NAME) == name)
            number = parsed->second.find_u16(CTRL_ATTR_FAMILY_ID);
    });
    return number;
}

} // namespace rdmanet::kernel
