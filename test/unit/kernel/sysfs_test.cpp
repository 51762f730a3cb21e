// What sysfs has of RDMA: tables of GIDs and P_Keys, and character devices.
#include <rdmanet/kernel/gid.hpp>
#include <rdmanet/kernel/pkey.hpp>
#include <rdmanet/kernel/rdma_files.hpp>

#include "support/directory.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <filesystem>

namespace rdmanet::kernel {
namespace {

using base::IpAddress;
using rdmanet::test::Directory;

constexpr const char* kEmpty = "0000:0000:0000:0000:0000:0000:0000:0000";

/// A tree like /sys/class/infiniband. Reading the attributes of an empty entry fails in sysfs, so their files are
/// missing here.
struct FakeSysfs : Directory {
    FakeSysfs() {
        for (unsigned index = 0; index < 8; ++index) put("gids", index, kEmpty);
    }

    void put(const std::string& directory, unsigned index, const std::string& text) const {
        write("rnic0/ports/1/" + directory + '/' + std::to_string(index), text + '\n');
    }
    void add(unsigned index, const std::string& gid, const std::string& type, const std::string& netdev) const {
        put("gids", index, gid);
        put("gid_attrs/types", index, type);
        put("gid_attrs/ndevs", index, netdev);
    }

    std::filesystem::path root = path();
};

RdmaPort first_port() {
    RdmaPort port;
    port.device = "rnic0";
    port.port = 1;
    return port;
}

TEST_CASE("entries are found anywhere in a sparse table") {
    const FakeSysfs sysfs;
    sysfs.add(0, "fe80:0000:0000:0000:0211:22ff:fe33:4455", "IB/RoCE v1", "net1");
    sysfs.add(5, "0000:0000:0000:0000:0000:ffff:0a01:0203", "RoCE v2", "net1");
    const std::array wanted = {*IpAddress::parse("10.1.2.3"), *IpAddress::parse("fe80::211:22ff:fe33:4455")};
    const auto entries = find_gids(first_port(), wanted, "net1", sysfs.root).entries;
    REQUIRE(entries.size() == 2);
    CHECK(entries[0].address.to_string() == "fe80::211:22ff:fe33:4455");
    CHECK(entries[0].type == GidType::ib_or_roce_v1);
    CHECK(entries[1].index == 5);
    CHECK(entries[1].address.to_string() == "10.1.2.3");
    CHECK(entries[1].type == GidType::roce_v2);
    CHECK(entries[1].netdev == "net1");
    const GidTable table = read_gid_table(first_port(), sysfs.root);
    CHECK(table.length == 8);
    CHECK(table.used == 2);
    const auto all = list_gids(first_port(), sysfs.root);
    REQUIRE(all.size() == 2);
    CHECK(all[1].netdev == "net1");
}

TEST_CASE("entries are found by their addresses") {
    const FakeSysfs sysfs;
    sysfs.add(1, "0000:0000:0000:0000:0000:ffff:0a01:0203", "IB/RoCE v1", "net1");
    sysfs.add(2, "0000:0000:0000:0000:0000:ffff:0a01:0203", "RoCE v2", "net1");
    sysfs.add(3, "2001:0db8:0000:0000:0000:0000:0000:0005", "RoCE v2", "net2");
    sysfs.add(4, "0000:0000:0000:0000:0000:ffff:0a01:0204", "RoCE v2", "net1");
    const std::array wanted = {*IpAddress::parse("10.1.2.3"), *IpAddress::parse("2001:db8::5")};
    const auto [entries, types] = find_gids(first_port(), wanted, "net1", sysfs.root);
    CHECK(types == 2);
    REQUIRE(entries.size() == 2); // the third is another interface's
    CHECK(entries[1].type == GidType::roce_v2);
    CHECK(find_gids(first_port(), {}, "net1", sysfs.root).entries.empty());
}

TEST_CASE("an entry that becomes empty between two readings has neither type nor net device, and an absent port has no "
          "entries") {
    const FakeSysfs sysfs;
    sysfs.put("gids", 3, "0000:0000:0000:0000:0000:ffff:0a01:0203");
    const std::array wanted = {*IpAddress::parse("10.1.2.3")};
    CHECK(find_gids(first_port(), wanted, "net1", sysfs.root).entries.empty());
    const auto entries = list_gids(first_port(), sysfs.root);
    REQUIRE(entries.size() == 1);
    CHECK(entries[0].type == GidType::unknown);
    CHECK(entries[0].netdev.empty());
    RdmaPort port = first_port();
    port.port = 2;
    CHECK(find_gids(port, wanted, "net1", sysfs.root).entries.empty());
    CHECK(read_gid_table(port, sysfs.root).length == 0);
    CHECK(find_gids(first_port(), wanted, "net1", sysfs.root / "nowhere").entries.empty());
    CHECK(list_gids(port, sysfs.root).empty());
}

TEST_CASE("a VLAN with the port's own address does not add types to it") {
    const FakeSysfs sysfs;
    const char* link_local = "fe80:0000:0000:0000:0211:22ff:fe33:4455";
    sysfs.add(0, link_local, "IB/RoCE v1", "eth0");
    sysfs.add(1, link_local, "RoCE v2", "eth0");
    sysfs.add(2, link_local, "IB/RoCE v1", "eth0.5");
    sysfs.add(3, link_local, "RoCE v2", "eth0.5");
    CHECK(read_gid_table(first_port(), sysfs.root).types == 2);
    CHECK(find_gids(first_port(), {}, "net1", sysfs.root).types == 2);
    CHECK(has_free_gids(first_port(), 4, sysfs.root));
    CHECK_FALSE(has_free_gids(first_port(), 5, sysfs.root));
}

TEST_CASE("free entries are counted from the end of the table, so that its beginning need not be read") {
    const FakeSysfs sysfs;
    sysfs.remove("rnic0/ports/1/gids/0");
    sysfs.make("rnic0/ports/1/gids/0"); // reading it fails
    CHECK(has_free_gids(first_port(), 7, sysfs.root));
    CHECK_THROWS_AS(has_free_gids(first_port(), 8, sysfs.root), base::SystemError);
}

TEST_CASE("a port's partitions are the valid entries of its table, in its order") {
    const FakeSysfs sysfs;
    CHECK(list_pkeys(first_port(), sysfs.root).empty()); // the port is gone
    for (const auto& [index, key] : {std::pair{0U, "0x7fff"},
                                     {1, "0x8001"},
                                     {2, "0x0000"},
                                     {3, "0x8000"},
                                     {4, "0x0002"},
                                     {5, "0x8003"},
                                     {12, "0x8004"}})
        sysfs.put("pkeys", index, key);
    const auto found = list_pkeys(first_port(), sysfs.root);
    REQUIRE(found.size() == 5);
    CHECK(found[0].pkey == 0x7fff);
    CHECK(found[2].index == 4);
    CHECK(found[2].pkey == 2);
    CHECK(found[4].index == 12); // after 5, although "12" is before it in the alphabet
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

TEST_CASE("character devices are listed with their RDMA device and port") {
    const Directory classes;
    classes.write("infiniband_verbs/uverbs1/ibdev", "mlx5_1\n");
    classes.write("infiniband_verbs/abi_version", "6\n");
    for (const std::string file : {"infiniband_mad/issm3", "infiniband_mad/umad3"}) {
        classes.write(file + "/ibdev", "mlx5_1\n");
        classes.write(file + "/port", "2\n");
    }
    classes.write("misc/rdma_cm/dev", "10:124\n");
    const auto files = list_rdma_files(classes.path());
    REQUIRE(files.size() == 4);
    CHECK((files[0].name == "uverbs1" && files[0].device == "mlx5_1" && files[0].port == 0));
    CHECK((files[1].name == "umad3" && files[1].device == "mlx5_1" && files[1].port == 2));
    CHECK((files[2].name == "issm3" && files[2].port == 2));
    CHECK((files[3].name == "rdma_cm" && files[3].device.empty()));
}

TEST_CASE("a vanishing device, and a machine without RDMA, have no character devices") {
    const Directory classes;
    CHECK(list_rdma_files(classes.path()).empty());
    classes.make("infiniband_verbs/uverbs0");
    CHECK(list_rdma_files(classes.path()).empty());
}

} // namespace
} // namespace rdmanet::kernel
