#include "rest_memory.hpp"

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
    node.memory().note("pool", {numbered(1)}, soon());
    node.now += 20;
    node.memory().note("pool", {numbered(2)}, soon());
    CHECK(addresses_of(node.memory().resting("pool", 30s)) == "10.0.0.1 10.0.0.2 ");
    CHECK(addresses_of(node.memory().resting("pool", 20s)) == "10.0.0.2 ");
    CHECK(addresses_of(node.memory().resting("pool", 0s)).empty());
    CHECK(addresses_of(node.memory().resting("pool made anew", 30s)).empty());
    CHECK(addresses_of(node.memory("next boot").resting("pool", 30s)).empty());
    node.now -= 10; // it never rests longer than that
    CHECK(addresses_of(node.memory().resting("pool", 24h)) == "10.0.0.1 ");
    node.memory("next boot").note("pool", {numbered(3)}, soon());
    CHECK(addresses_of(node.memory("next boot").resting("pool", 30s)) == "10.0.0.3 ");
    CHECK(addresses_of(node.memory().resting("pool", 30s)).empty());
    CHECK(addresses_of(RestMemory("", "boot", [] { return 0; }).resting("pool", 30s)).empty());
}

TEST_CASE("of very many addresses, those that were given back last rest") {
    RestingNode node;
    std::vector<base::IpAddress> many;
    for (unsigned number = 0; number < 3000; ++number) many.push_back(numbered(number));
    node.memory().note("pool", many, soon());
    ++node.now;
    node.memory().note("pool", {numbered(5000)}, soon());
    CHECK(node.memory().resting("pool", 1h).size() == 1024);
    CHECK(node.memory().resting("pool", 1h).contains(numbered(5000)));
    CHECK(std::filesystem::file_size(node.only_file()) < 64 << 10U);
}

TEST_CASE("what a file says that nobody can read, and a directory that takes no file, are no addresses") {
    RestingNode node;
    node.memory().note("pool", {numbered(1)}, soon());
    base::write_file_durably(node.only_file(), "boot\nten\n10.0.0.2 1000\n10.0.0.3\n10.0.0.4 soon\n10.0.0.5 1000");
    CHECK(addresses_of(node.memory().resting("pool", 30s)) == "10.0.0.2 10.0.0.5 ");
    base::write_file_durably(node.only_file(), std::string(1 << 20U, 'x'));
    CHECK(addresses_of(node.memory().resting("pool", 30s)).empty());
    const RestMemory nowhere("/proc/none", "boot", [] { return 1000; });
    nowhere.note("pool", {numbered(1)}, soon());
    CHECK(nowhere.resting("pool", 30s).empty());
}
