#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/guid.hpp>
#include <rdmanet/base/interface_name.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/mac_address.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet::base;

TEST_CASE("interface names follow the kernel's rules") {
    for (const char* good : {"a", "eth0", "net1", "...", "a.100", "fifteen-bytes-x", "\xc3\xbc"})
        CHECK(InterfaceName::parse(good).has_value());
    for (const char* bad : {
             "",      ".",    "..",       "sixteen-bytes-xx",
             "a/b",   "a:b",  "a b",      "a\tb",
             "a\nb",  "a\vb", "eth0\n",   "net%d",
             "net%",  "all",  "default",  "\x01",
             "a\x7f", "\xff", "\xc2\xa0", "\xc3\xa0"}) // "à", whose second byte the kernel takes for a space
        CHECK_FALSE(InterfaceName::parse(bad));
    CHECK_FALSE(InterfaceName::parse(std::string_view("a\0b", 3)));
}

TEST_CASE("MAC addresses are read in two notations and written in one") {
    const auto mac = MacAddress::parse("02:00:AB:cd:Ef:01");
    REQUIRE(mac);
    CHECK(mac->to_string() == "02:00:ab:cd:ef:01");
    CHECK(MacAddress::parse("02-00-ab-cd-ef-01") == mac);
    CHECK_FALSE(mac->is_multicast());
    CHECK(MacAddress::parse("01:00:5e:00:00:01")->is_multicast());
    CHECK(MacAddress::parse("00:00:00:00:00:00")->is_zero());
    for (const char* bad :
         {"", "02:00:ab:cd:ef", "02:00:ab:cd:ef:0", "02:00:ab:cd:ef:011", "02:00:ab:cd:ef-01", "02-00:ab:cd:ef:01",
          "0200abcdef01", "02:00:ab:cd:ef:0g", "02:00:ab:cd:ef:+1", "0200.abcd.ef01...", "02:00:ab:cd:ef:01:02:03"})
        CHECK_FALSE(MacAddress::parse(bad));
}

TEST_CASE("GUIDs are read in either case, and are the second half of GIDs") {
    const auto guid = Guid::parse("02:00:AB:cd:00:00:00:01");
    REQUIRE(guid);
    CHECK(guid->value() == 0x0200abcd00000001);
    CHECK(guid->to_string() == "02:00:ab:cd:00:00:00:01");
    CHECK(Guid::from_gid(*IpAddress::parse("fe80::200:abcd:0:1")) == guid);
    for (const char* bad :
         {"", "02:00:ab:cd:00:00:00", "02-00-ab-cd-00-00-00-01", "0200:abcd:0000:0001", "02:00:ab:cd:00:00:00:0g"})
        CHECK_FALSE(Guid::parse(bad));
}

TEST_CASE("PCI addresses are read in either case, and written as sysfs does") {
    CHECK(PciAddress::parse("0000:3B:1f.7")->to_string() == "0000:3b:1f.7");
    CHECK(PciAddress::parse("0001:00:00.0")->to_string() == "0001:00:00.0");
    CHECK(PciAddress::parse("10000:e1:00.0")->to_string() == "10000:e1:00.0"); // behind Intel's VMD
    CHECK(PciAddress::parse("ffffffff:ff:1f.7")->to_string() == "ffffffff:ff:1f.7");
    CHECK(PciAddress::parse("00000000:3b:00.2") == PciAddress::parse("0000:3b:00.2"));
    for (const char* bad : {"", "3b:00.2", "0000:3b:00", "000:3b:00.2", "000000000:3b:00.2", "0000:3b:20.0",
                            "0000:3b:00.8", "0000:3g:00.2", "0000:3b:00.2 ", "0000-3b-00.2", "0000:3b:00:2",
                            "../0000:3b:00.2", "0000:+b:00.2", "0000:3b:0.02", "mlx5_core.sf.4"})
        CHECK_FALSE(PciAddress::parse(bad));
    CHECK_FALSE(PciAddress::parse(std::string_view("0000:3b:00.2\0", 13)));
}

TEST_CASE("devices are named by PCI address or by their name on the auxiliary bus") {
    CHECK(BusAddress::parse("0000:3B:00.2")->to_string() == "0000:3b:00.2");
    CHECK(BusAddress::parse("0000:3B:00.2")->pci() == PciAddress::parse("0000:3b:00.2"));
    const auto subfunction = BusAddress::parse("mlx5_core.sf.4");
    REQUIRE(subfunction);
    CHECK(subfunction->bus() == Bus::auxiliary);
    CHECK_FALSE(subfunction->pci());
    CHECK(to_string(subfunction->bus()) == "auxiliary");
    CHECK(BusAddress::parse("idpf.vport.rdma.0"));
    for (const std::string& bad : {std::string(), std::string("eth0"), std::string("a."), std::string(".4"),
                                   std::string("a..4"), std::string("../a.4"), std::string("a/b.4"), std::string("a.b"),
                                   std::string("a.4\n"), std::string(70, 'a') + ".4", std::string("a.99999999999")})
        CHECK_FALSE(BusAddress::parse(bad));
}
