#include <rdmanet/kernel/gid.hpp>

#include <catch2/catch.hpp>

#include <array>
#include <filesystem>
#include <fstream>

namespace rdmanet::kernel {
namespace {

using base::IpAddress;

constexpr const char* kEmpty = "0000:0000:0000:0000:0000:0000:0000:0000";

/// A tree like /sys/class/infiniband. Reading the attributes of an empty entry fails in sysfs, so their files are
/// missing here.
struct FakeSysfs {
    FakeSysfs() {
        char name[] = "/tmp/rdmanet-sysfs-XXXXXX";
        root = ::mkdtemp(name);
        for (const char* directory : {"gids", "gid_attrs/types", "gid_attrs/ndevs"})
            std::filesystem::create_directories(root / "rnic0/ports/1" / directory);
        for (unsigned index = 0; index < 8; ++index) write("gids", index, kEmpty);
    }
    ~FakeSysfs() { std::filesystem::remove_all(root); }

    void write(const std::string& directory, unsigned index, const std::string& text) const {
        std::ofstream(root / "rnic0/ports/1" / directory / std::to_string(index)) << text << '\n';
    }
    void add(unsigned index, const std::string& gid, const std::string& type, const std::string& netdev) const {
        write("gids", index, gid);
        write("gid_attrs/types", index, type);
        write("gid_attrs/ndevs", index, netdev);
    }

    std::filesystem::path root;
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

TEST_CASE("an entry that becomes empty between two readings has neither type nor net device") {
    const FakeSysfs sysfs;
    sysfs.write("gids", 3, "0000:0000:0000:0000:0000:ffff:0a01:0203");
    const std::array wanted = {*IpAddress::parse("10.1.2.3")};
    CHECK(find_gids(first_port(), wanted, "net1", sysfs.root).entries.empty());
    const auto entries = list_gids(first_port(), sysfs.root);
    REQUIRE(entries.size() == 1);
    CHECK(entries[0].type == GidType::unknown);
    CHECK(entries[0].netdev.empty());
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
    std::filesystem::remove(sysfs.root / "rnic0/ports/1/gids/0");
    std::filesystem::create_directory(sysfs.root / "rnic0/ports/1/gids/0"); // reading it fails
    CHECK(has_free_gids(first_port(), 7, sysfs.root));
    CHECK_THROWS_AS(has_free_gids(first_port(), 8, sysfs.root), base::SystemError);
}

TEST_CASE("the table of an absent port is empty") {
    const FakeSysfs sysfs;
    RdmaPort port = first_port();
    port.port = 2;
    const std::array wanted = {*IpAddress::parse("10.1.2.3")};
    CHECK(find_gids(port, wanted, "net1", sysfs.root).entries.empty());
    CHECK(read_gid_table(port, sysfs.root).length == 0);
    CHECK(find_gids(first_port(), wanted, "net1", sysfs.root / "nowhere").entries.empty());
    CHECK(list_gids(port, sysfs.root).empty());
}

} // namespace
} // namespace rdmanet::kernel
