#include "fixture.hpp"

#include <rdmanet/ipam/block_cut.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

using namespace rdmanet;
using namespace rdmanet::ipam;
using namespace rdmanet::ipam::test;

namespace {

std::vector<Interval> all_of(std::string_view subnet) {
    const base::IpPrefix p = prefix(subnet);
    return {{p.network().value(), p.last().value()}};
}

/// "size*count", by size.
std::string sizes_of(std::string_view subnet, unsigned block_size) {
    const BlockCut cut(prefix(subnet), block_size, std::nullopt);
    std::map<unsigned, int, std::greater<>> count_by_bits;
    const BlockIndexes all = cut.blocks_with(all_of(subnet)).front();
    for (base::Uint128 at = all.first; at <= all.last; ++at)
        ++count_by_bits[base::address_bits(prefix(subnet).family()) - cut.at(at).length()];
    std::string text;
    for (const auto& [bits, count] : count_by_bits)
        text += (text.empty() ? "" : " ") + std::to_string(1U << bits) + "*" + std::to_string(count);
    return text;
}

} // namespace

TEST_CASE("the last quarter of a range is cut smaller") {
    CHECK(sizes_of("10.0.0.0/24", 16) == "16*12 4*12 1*16");
    CHECK(sizes_of("10.0.0.0/16", 64) == "64*768 4*3072 1*4096");
    CHECK(sizes_of("10.0.0.0/24", 2) == "2*120 1*16");
    CHECK(sizes_of("10.0.0.0/28", 16) == "4*3 1*4");
    CHECK(sizes_of("10.0.0.0/29", 16) == "2*3 1*2");
    CHECK(sizes_of("10.0.0.0/30", 16) == "1*4");
    CHECK(sizes_of("10.0.0.0/32", 16) == "1*1");
    CHECK(sizes_of("10.0.0.0/26", 1) == "1*64");
    CHECK(sizes_of("fd00::/120", 16) == "16*12 4*12 1*16");
}

TEST_CASE("every address of a range is in exactly one block") {
    for (unsigned length = 20; length <= 32; ++length)
        for (const unsigned size : {1U, 2U, 4U, 8U, 16U, 64U, 65536U}) {
            const base::IpPrefix subnet = base::IpPrefix::make(ip("10.16.0.0"), length).value();
            const BlockCut cut(subnet, size, std::nullopt);
            const BlockIndexes all = cut.blocks_with({{subnet.network().value(), subnet.last().value()}}).front();
            base::Uint128 next = subnet.network().value();
            bool is_right = all.first == 0;
            for (base::Uint128 at = 0; at <= all.last; ++at) {
                const base::IpPrefix block = cut.at(at);
                is_right = is_right && block.network().value() == next && !block.has_host_bits() &&
                           cut.block_of(block.network()) == block && cut.block_of(block.last()) == block &&
                           cut.index_of(block.last()) == at;
                next = block.last().value() + 1;
            }
            INFO(subnet.to_string() << " in blocks of " << size);
            CHECK((is_right && next == subnet.last().value() + 1));
        }
}

TEST_CASE("blocks of a large IPv6 range are counted with all bits") {
    const BlockCut cut(prefix("fd00:1::/8"), 16, std::nullopt);
    CHECK(cut.count_of_largest() == (base::Uint128{3} << (118 - 4)));
    const base::IpAddress last = prefix("fd00::/8").last();
    CHECK(cut.block_of(last).to_string() == "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128");
    CHECK(cut.at(cut.index_of(last)) == cut.block_of(last));
    const base::IpAddress high = ip("fdb0:1234::ffff:1");
    CHECK(cut.block_of(high).to_string() == "fdb0:1234::ffff:0/124");
    CHECK(cut.at(cut.index_of(high)) == cut.block_of(high));
}

TEST_CASE("only blocks with a usable address are candidates, whatever is excluded") {
    const BlockCut cut(prefix("10.0.0.0/24"), 16, std::nullopt);
    const auto value = [](std::string_view text) { return ip(text).value(); };
    const std::vector<Interval> usable = {{value("10.0.0.17"), value("10.0.0.20")},
                                          {value("10.0.0.30"), value("10.0.0.34")},
                                          {value("10.0.0.100"), value("10.0.0.100")}};
    const auto blocks = cut.blocks_with(usable);
    REQUIRE(blocks.size() == 2);
    CHECK(blocks[0] == BlockIndexes{1, 2});
    CHECK(blocks[1] == BlockIndexes{6, 6});
}

TEST_CASE("the requestable part is never cut, and nobody gets its addresses without a request") {
    const BlockCut cut(prefix("10.0.0.0/24"), 16, prefix("10.0.0.24/29"));
    CHECK(cut.block_of(ip("10.0.0.23")).to_string() == "10.0.0.16/28");
    CHECK(cut.block_of(ip("10.0.0.24")).to_string() == "10.0.0.24/32");
    const auto left = cut.without_requestable(all_of("10.0.0.0/24"));
    REQUIRE(left.size() == 2);
    CHECK(left[0].last == ip("10.0.0.23").value());
    CHECK(left[1].first == ip("10.0.0.32").value());
    CHECK(cut.blocks_with(all_of("10.0.0.24/29")).empty());
}
