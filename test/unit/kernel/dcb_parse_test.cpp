// What drivers say about traffic classes, as the kernel puts it into its answer (dcbnl_ieee_fill(), net/dcb/dcbnl.c).
#include "dcb_parse.hpp"

#include <catch2/catch.hpp>

#include <linux/dcbnl.h>

namespace rdmanet::kernel {
namespace {

constexpr int kTrustTable = 11; // DCB_ATTR_DCB_APP_TRUST_TABLE, since Linux 6.3
constexpr int kTrusted = 1;     // DCB_ATTR_DCB_APP_TRUST

/// A driver's answer with PFC for priority 3, and what `fill` adds.
template <class Fill>
std::optional<FlowControl> parsed(const Fill& fill) {
    Message answer(0, 0);
    answer.put_value(DCB_ATTR_IEEE_PFC, ieee_pfc{.pfc_cap = 8, .pfc_en = 1U << 3U});
    fill(answer);
    return parse_ieee(Attributes(payload_of(answer.header())));
}

std::optional<PriorityTrust> trust(const std::vector<std::uint8_t>& selectors) {
    return parsed([&](Message& answer) {
               answer.nest(kTrustTable, [&] {
                   for (const std::uint8_t selector : selectors) answer.put_u8(kTrusted, selector);
               });
           })
        ->trust;
}

} // namespace

TEST_CASE("a driver without buffers and trust has only PFC") {
    const auto flow = parsed([](Message&) {});
    REQUIRE(flow);
    CHECK(flow->pfc == 8);
    CHECK(!flow->buffers);
    CHECK(!flow->trust);
    CHECK(flow->dscp_priorities.empty());
    CHECK(!parse_ieee(Attributes(Bytes{})));
}

TEST_CASE("trusted selectors are read in any order") {
    CHECK((trust({255})->pcp && !trust({255})->dscp));
    CHECK((!trust({5})->pcp && trust({5})->dscp));
    CHECK((trust({5, 255})->pcp && trust({5, 255})->dscp));
    CHECK((trust({255, 1, 5})->pcp && trust({255, 1, 5})->dscp));
    REQUIRE(trust({}));
    CHECK((!trust({})->pcp && !trust({})->dscp));
    const auto odd = parsed([](Message& answer) {
        answer.nest(kTrustTable, [&] {
            answer.put_u32(kTrusted, 5);
            answer.put_u8(kTrusted + 1, 5);
        });
    });
    CHECK(!odd->trust->dscp);
}

TEST_CASE("priorities of DSCPs are those of the table's entries for DSCPs") {
    constexpr std::uint8_t kDscp = IEEE_8021QAZ_APP_SEL_DSCP;
    const auto flow = parsed([](Message& answer) {
        answer.nest(DCB_ATTR_IEEE_APP_TABLE, [&] {
            for (const dcb_app& app : {dcb_app{.selector = kDscp, .priority = 5, .protocol = 26},
                                       dcb_app{.selector = 1, .priority = 6, .protocol = 0x8915},
                                       dcb_app{.selector = kDscp, .priority = 7, .protocol = 48}})
                answer.put_value(DCB_ATTR_IEEE_APP, app);
        });
    });
    CHECK(flow->dscp_priorities == std::map<std::uint8_t, std::uint8_t>{{26, 5}, {48, 7}});
}

TEST_CASE("buffers are read as a whole, or not at all") {
    dcbnl_buffer buffer{};
    buffer.prio2buffer[3] = 1;
    buffer.buffer_size[1] = 131072;
    const auto flow = parsed([&](Message& answer) { answer.put_value(DCB_ATTR_DCB_BUFFER, buffer); });
    REQUIRE(flow->buffers);
    CHECK(flow->buffers->of_priority[3] == 1);
    CHECK(flow->buffers->of_priority[0] == 0);
    CHECK(flow->buffers->sizes[1] == 131072);
    CHECK(!parsed([](Message& answer) { answer.put_u32(DCB_ATTR_DCB_BUFFER, 1); })->buffers);
}

} // namespace rdmanet::kernel
