#include <rdmanet/kernel/pkey.hpp>

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

namespace rdmanet::kernel {
namespace {

RdmaPort infiniband_port() {
    RdmaPort port;
    port.device = "ib0";
    port.port = 1;
    return port;
}

} // namespace

TEST_CASE("a port's partitions are the valid entries of its table, in its order") {
    char name[] = "/tmp/rdmanet-sysfs-XXXXXX";
    const std::filesystem::path root = ::mkdtemp(name);
    CHECK(list_pkeys(infiniband_port(), root).empty()); // the port is gone
    const std::filesystem::path table = root / "ib0/ports/1/pkeys";
    std::filesystem::create_directories(table);
    const char* const keys[] = {"0x7fff", "0x8001", "0x0000", "0x8000", "0x0002", "0x8003"};
    for (unsigned index = 0; index < std::size(keys); ++index)
        std::ofstream(table / std::to_string(index)) << keys[index] << '\n';
    std::ofstream(table / "12") << "0x8004\n";
    const auto found = list_pkeys(infiniband_port(), root);
    REQUIRE(found.size() == 5);
    CHECK(found[0].pkey == 0x7fff);
    CHECK(found[2].index == 4);
    CHECK(found[2].pkey == 2);
    CHECK(found[4].index == 12); // after 5, although "12" is before it in the alphabet
    std::filesystem::remove_all(root);
}

TEST_CASE("full membership is preferred, whatever the asked key says") {
    const std::vector<PkeyEntry> table{{0, 0xffff}, {1, 0x0001}, {2, 0x8001}, {3, 0x0002}};
    CHECK(find_partition(table, 0x8001)->index == 2);
    CHECK(find_partition(table, 0x0001)->index == 2);
    CHECK(find_partition(table, 0x7fff)->index == 0);
    CHECK(find_partition(table, 0x8002)->index == 3); // limited, because there is nothing else
    CHECK(find_partition(table, 0x8002)->pkey == 2);
    CHECK_FALSE(find_partition(table, 0x8003));
}

} // namespace rdmanet::kernel
