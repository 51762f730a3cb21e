#include <rdmanet/kernel/ethtool.hpp>

#include "fixture.hpp"

#include <catch2/catch.hpp>

#include <cerrno>

namespace rdmanet::kernel {
namespace {

using Catch::Matchers::Contains;
using test::Host;
using test::soon;

/// The number of a feature by its name. -1 if the device has no changeable feature of that name.
int number_of(Ethtool& ethtool, unsigned ifindex, const std::string& name) {
    const auto features = ethtool.find_features(ifindex);
    for (std::size_t bit = 0; bit < features->changeable.size() * 32; ++bit) {
        FeatureSet one(bit / 32 + 1);
        one.back() = 1U << bit % 32;
        if (!difference(one, {}, features->changeable).empty() && ethtool.names_of(ifindex, one) == name)
            return static_cast<int>(bit);
    }
    return -1;
}

TEST_CASE("a difference has the features that only one of two sets has") {
    CHECK(difference({}, {}, {}).empty());
    CHECK(difference({1, 2}, {1, 2}, {3, 3}).empty());
    CHECK(difference({5, 2, 9}, {1}, {7, 7}) == FeatureSet{4, 2}); // the third word is not compared
    CHECK(difference({1}, {1, 8}, {7, 15, 7}) == FeatureSet{0, 8});
    CHECK(difference({6}, {}, {4}) == FeatureSet{4});
}

TEST_CASE("features are read, changed and named") {
    NEEDS_NETNS();
    const Host host;
    const NetnsScope scope(host.netns);
    auto ethtool = Ethtool::find(soon());
    NEEDS(ethtool.has_value(), "features by netlink (Linux 5.7)");
    const unsigned ifindex = host.parent.ifindex;
    const auto before = ethtool->find_features(ifindex);
    REQUIRE(before);
    CHECK_FALSE(difference(before->wanted, {}, before->changeable).empty());
    const int number = number_of(*ethtool, ifindex, "tx-scatter-gather");
    REQUIRE(number >= 0);
    CHECK(number_of(*ethtool, ifindex, "netns-local") == -1); // fixed, if the kernel has it
    FeatureSet which(static_cast<std::size_t>(number) / 32 + 1);
    which.back() = 1U << number % 32;
    ethtool->want_features(ifindex, {}, which);
    const auto changed = ethtool->find_features(ifindex);
    const FeatureSet all(3, UINT32_MAX);
    CHECK(difference(changed->wanted, before->wanted, all) == which);
    // TCP segmentation is still wanted, but off, because it needs scatter-gather.
    CHECK_THAT(ethtool->names_of(ifindex, difference(changed->active, before->active, all)),
               Contains("tx-scatter-gather, ") && Contains(", tx-tcp-segmentation"));
    ethtool->want_features(ifindex, before->wanted, which);
    CHECK(ethtool->find_features(ifindex)->active == before->active);
}

TEST_CASE("features of an absent interface are an error") {
    NEEDS_NETNS();
    auto ethtool = Ethtool::find(soon());
    NEEDS(ethtool.has_value(), "features by netlink (Linux 5.7)");
    constexpr unsigned kNobodys = 1U << 30;
    try {
        (void)ethtool->find_features(kNobodys);
        FAIL("there is one");
    } catch (const NetlinkError& error) {
        CHECK(error.errno_value() == ENODEV);
    }
    CHECK_THROWS_AS(ethtool->want_features(kNobodys, {1}, {1}), NetlinkError);
}

} // namespace
} // namespace rdmanet::kernel
