// What a port says of its priorities.
#include "flow_control_parse.hpp"
#include "message.hpp"

#include <catch2/catch.hpp>

#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>

namespace rdmanet::kernel {
namespace {

Message answer_of_port(const std::vector<dcb_app>& apps) {
    Message message(RTM_GETDCB, 0, dcbmsg{});
    message.nest(DCB_ATTR_IEEE, [&] {
        message.put_value(DCB_ATTR_IEEE_PFC, ieee_pfc{.pfc_cap = 8, .pfc_en = 1U << 3U});
        message.nest(DCB_ATTR_IEEE_APP_TABLE, [&] {
            for (const dcb_app& app : apps) message.put_value(DCB_ATTR_IEEE_APP, app);
        });
    });
    return message;
}

} // namespace

TEST_CASE("priorities of DSCPs are those of the table's entries for DSCPs") {
    constexpr std::uint8_t kDscp = IEEE_8021QAZ_APP_SEL_DSCP;
    Message message = answer_of_port({{.selector = kDscp, .priority = 5, .protocol = 26},
                                      {.selector = 1, .priority = 6, .protocol = 0x8915},
                                      {.selector = kDscp, .priority = 7, .protocol = 48}});
    const auto flow = parse_priorities(message.header());
    REQUIRE(flow);
    CHECK(flow->pfc == 1U << 3U);
    CHECK(flow->dscp_priorities == std::map<std::uint8_t, std::uint8_t>{{26, 5}, {48, 7}});
    CHECK_FALSE(flow->global_pause);
}

TEST_CASE("a port without PFC in its answer has no flow control") {
    Message message(RTM_GETDCB, 0, dcbmsg{});
    CHECK_FALSE(parse_priorities(message.header()));
    CHECK_FALSE(parse_priorities(Message(RTM_NEWLINK, 0, dcbmsg{}).header()));
}

} // namespace rdmanet::kernel
