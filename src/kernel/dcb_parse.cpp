#include "dcb_parse.hpp"

#include <linux/dcbnl.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace rdmanet::kernel {
namespace {

// Since Linux 6.3 (linux/dcbnl.h): the trusted selectors, a byte each, in the order in which they count.
constexpr int kTrustTable = 11;    // DCB_ATTR_DCB_APP_TRUST_TABLE
constexpr int kTrusted = 1;        // DCB_ATTR_DCB_APP_TRUST
constexpr std::uint8_t kPcp = 255; // DCB_APP_SEL_PCP

std::optional<PortBuffers> parse_buffers(const Attributes& ieee) {
    const auto buffer = ieee.find_value<dcbnl_buffer>(DCB_ATTR_DCB_BUFFER);
    if (!buffer) return std::nullopt;
    PortBuffers buffers;
    static_assert(sizeof buffer->prio2buffer == sizeof buffers.of_priority);
    static_assert(sizeof buffer->buffer_size == sizeof buffers.sizes);
    std::copy(std::begin(buffer->prio2buffer), std::end(buffer->prio2buffer), buffers.of_priority.begin());
    std::copy(std::begin(buffer->buffer_size), std::end(buffer->buffer_size), buffers.sizes.begin());
    return buffers;
}

std::optional<PriorityTrust> parse_trust(const Attributes& ieee) {
    const auto table = ieee.find(kTrustTable);
    if (!table) return std::nullopt;
    PriorityTrust trust;
    for (const Bytes selector : Attributes(*table).find_all(kTrusted)) {
        if (selector.size() != 1) continue;
        trust.pcp = trust.pcp || selector[0] == kPcp;
        trust.dscp = trust.dscp || selector[0] == IEEE_8021QAZ_APP_SEL_DSCP;
    }
    return trust;
}

std::map<std::uint8_t, std::uint8_t> parse_dscp_priorities(const Attributes& ieee) {
    std::map<std::uint8_t, std::uint8_t> priorities;
    for (const Bytes bytes : ieee.nest(DCB_ATTR_IEEE_APP_TABLE).find_all(DCB_ATTR_IEEE_APP)) {
        dcb_app app;
        if (bytes.size() != sizeof app) continue;
        std::memcpy(&app, bytes.data(), sizeof app);
        if (app.selector == IEEE_8021QAZ_APP_SEL_DSCP)
            priorities.insert_or_assign(static_cast<std::uint8_t>(app.protocol), app.priority);
    }
    return priorities;
}

} // namespace

std::optional<FlowControl> parse_ieee(const Attributes& ieee) {
    const auto pfc = ieee.find_value<ieee_pfc>(DCB_ATTR_IEEE_PFC);
    if (!pfc) return std::nullopt;
    return FlowControl{.pfc = pfc->pfc_en,
                       .buffers = parse_buffers(ieee),
                       .trust = parse_trust(ieee),
                       .dscp_priorities = parse_dscp_priorities(ieee)};
}

} // namespace rdmanet::kernel
