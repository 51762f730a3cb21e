#include "pools/rest_memory.hpp"

#include "../ipam/fixture.hpp"
#include "fixture.hpp"

#include <rdmanet/base/file.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <filesystem>
#include <string>

using namespace rdmanet;
using namespace rdmanet::cluster;
using rdmanet::cluster::test::soon;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kPod = 7;

base::IpAddress numbered(unsigned number) {
    return {base::Family::v4, (10U << 24U) + number};
}

std::string addresses_of(const std::map<base::IpAddress, std::int64_t>& resting) {
    std::string text;
    for (const auto& [address, since] : resting) text += address.to_string() + " ";
    return text;
}

struct RestingNode {
    [[nodiscard]] RestMemory memory(const std::string& boot = "boot") {
        return {directory.path(), boot, [this] { return now; }};
    }
    std::string only_file() {
        for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
            if (entry.path().filename().string().starts_with("resting-")) return entry.path();
        return {};
    }

    ipam::test::TemporaryDirectory directory;
    std::int64_t now = 1000;
};

} // namespace

TEST_CASE("an address rests for its range's cooldown, by the clock of this boot") {
    RestingNode node;
    node.memory().note("pool", {{numbered(1), kPod}}, soon());
    node.now += 20;
    node.memory().note("pool", {{numbered(2), kPod}}, soon());
    CHECK(addresses_of(node.memory().find("pool", 30s).resting) == "10.0.0.1 10.0.0.2 ");
    CHECK(addresses_of(node.memory().find("pool", 20s).resting) == "10.0.0.2 ");
    CHECK(addresses_of(node.memory().find("pool", 0s).resting).empty());
    CHECK(addresses_of(node.memory().find("pool made anew", 30s).resting).empty());
    CHECK(addresses_of(node.memory("next boot").find("pool", 30s).resting).empty());
    node.now -= 10; // it never rests longer than that
    CHECK(addresses_of(node.memory().find("pool", 24h).resting) == "10.0.0.1 ");
    node.memory("next boot").note("pool", {{numbered(3), kPod}}, soon());
    CHECK(addresses_of(node.memory("next boot").find("pool", 30s).resting) == "10.0.0.3 ");
    CHECK(addresses_of(node.memory().find("pool", 30s).resting).empty());
    CHECK(addresses_of(RestMemory("", "boot", [] { return 0; }).find("pool", 30s).resting).empty());
}

TEST_CASE("the pod that had an address finds it until a day after the rest") {
    RestingNode node;
    node.memory().note("pool", {{numbered(1), kPod}, {numbered(2), 8}, {numbered(3), kPod}}, soon());
    const auto own = [&](std::uint64_t pod, std::chrono::seconds cooldown) {
        return node.memory().find("pool", cooldown, pod).own;
    };
    CHECK(own(kPod, 30s) == std::vector{numbered(1), numbered(3)});
    CHECK(own(8, 30s) == std::vector{numbered(2)});
    CHECK(own(9, 30s).empty());
    CHECK(own(kPod, 0s).empty());
    node.memory().note("pool", {{numbered(1), 9}}, soon());
    node.now += 30 + 86399;
    CHECK(own(kPod, 30s) == std::vector{numbered(3)});
    ++node.now;
    CHECK(own(kPod, 30s).empty());
}

TEST_CASE("an address of another host is no pod's, and rests for five minutes or longer") {
    RestingNode node;
    node.memory().note("pool", {{numbered(1), 0}}, soon());
    node.now += 299;
    CHECK(addresses_of(node.memory().find("pool", 0s).resting) == "10.0.0.1 ");
    CHECK(node.memory().find("pool", 0s, 0).own.empty());
    ++node.now;
    CHECK(node.memory().find("pool", 30s).resting.empty());
    CHECK(addresses_of(node.memory().find("pool", 1h).resting) == "10.0.0.1 ");
}

TEST_CASE("of very many addresses, those that were given back last rest") {
    RestingNode node;
    RestMemory::GivenBack many;
    for (unsigned number = 0; number < 3000; ++number) many.emplace(numbered(number), kPod);
    node.memory().note("pool", many, soon());
    ++node.now;
    node.memory().note("pool", {{numbered(5000), kPod}}, soon());
    CHECK(node.memory().find("pool", 1h).resting.size() == 1024);
    CHECK(node.memory().find("pool", 1h).resting.contains(numbered(5000)));
    CHECK(std::filesystem::file_size(node.only_file()) < 64 << 10U);
}

TEST_CASE("what a file says that nobody can read, and a directory that takes no file, are no addresses") {
    RestingNode node;
    node.memory().note("pool", {{numbered(1), kPod}}, soon());
    base::write_file_durably(node.only_file(),
                             "boot\nten\n10.0.0.2 1000 7\n10.0.0.3\n10.0.0.4 soon 7\n10.0.0.5 1000 7");
    CHECK(addresses_of(node.memory().find("pool", 30s).resting) == "10.0.0.2 10.0.0.5 ");
    base::write_file_durably(node.only_file(), std::string(1 << 20U, 'x'));
    CHECK(addresses_of(node.memory().find("pool", 30s).resting).empty());
    const RestMemory nowhere("/proc/none", "boot", [] { return 1000; });
    nowhere.note("pool", {{numbered(1), kPod}}, soon());
    CHECK(nowhere.find("pool", 30s).resting.empty());
}
