#include "fixture.hpp"

#include <rdmanet/ipam/block_cut.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::ipam;
using namespace rdmanet::ipam::test;

namespace {

std::vector<Interval> all_of(std::string_view subnet) {
    const base::IpPrefix p = prefix(subnet);
    return {{p.network().value(), p.last().value()}};
}

/// "size*count" of the blocks.
std::string cut_of(std::string_view subnet, unsigned block_size) {
    const BlockCut cut(prefix(subnet), block_size, std::nullopt);
    const BlockIndexes all = cut.blocks_with(all_of(subnet)).front();
    const unsigned bits = base::address_bits(prefix(subnet).family()) - cut.at(0).length();
    return std::to_string(1U << bits) + "*" + std::to_string(static_cast<std::uint64_t>(all.last + 1));
}

} // namespace

TEST_CASE("all blocks of a range have one size, and a small range has four of them") {
    CHECK(cut_of("10.0.0.0/24", 16) == "16*16");
    CHECK(cut_of("10.0.0.0/16", 64) == "64*1024");
    CHECK(cut_of("10.0.0.0/28", 16) == "4*4");
    CHECK(cut_of("10.0.0.0/29", 16) == "2*4");
    CHECK(cut_of("10.0.0.0/30", 16) == "1*4");
    CHECK(cut_of("10.0.0.0/31", 16) == "1*2");
    CHECK(cut_of("10.0.0.0/32", 16) == "1*1");
    CHECK(cut_of("10.0.0.0/26", 1) == "1*64");
    CHECK(cut_of("fd00::/120", 16) == "16*16");
}

TEST_CASE("what is excluded at the beginning of a range leaves whole blocks at its end") {
    const BlockCut cut(prefix("10.0.0.0/24"), 16, std::nullopt);
    const auto blocks = cut.blocks_with(all_of("10.0.0.192/26"));
    REQUIRE(blocks.size() == 1);
    CHECK(cut.at(blocks[0].first).to_string() == "10.0.0.192/28");
    CHECK(cut.at(blocks[0].last).to_string() == "10.0.0.240/28");
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
    for (const char* text : {"fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fdb0:1234::ffff:1"})
        CHECK(cut.at(cut.index_of(ip(text))) == cut.block_of(ip(text)));
    CHECK(cut.block_of(ip("fdb0:1234::ffff:1")).to_string() == "fdb0:1234::ffff:0/124");
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
