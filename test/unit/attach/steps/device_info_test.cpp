// How ADD changes a device-info file of the device plugin.
#include "steps/device_info.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet::attach;
using namespace rdmanet;

namespace {

std::string text_after(std::string_view earlier, const std::string& rdma_device = "rdma0") {
    const FoundDevice plan{.address = base::BusAddress::parse("0000:3b:00.2").value()};
    return device_info_text(plan, rdma_device, earlier).value_or("as it is");
}

constexpr const char* kOurs =
    R"({"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:3b:00.2","rdma-device":"rdma0"}})";

} // namespace

TEST_CASE("ADD keeps the device plugin's members about the same device, except those that ADD knows better") {
    CHECK(text_after(R"({"type":"pci","version":"1.0.0","new":[1],"pci":{"pci-address":"0000:3B:00.2",
        "rdma-device":"mlx5_3","vhost-net":"/dev/vhost-net","pf-pci-address":"0000:3b:00.0","rank":{"a":7}}})") ==
          R"({"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:3b:00.2","rdma-device":"rdma0",)"
          R"("pf-pci-address":"0000:3b:00.0","rank":{"a":7},"vhost-net":"/dev/vhost-net"},"new":[1]})");
    CHECK(text_after(R"({"type":"pci","pci":{"pci-address":"0000:3b:00.2","rdma-device":"mlx5_3"}})", "") ==
          R"({"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:3b:00.2"}})");
}

TEST_CASE("a device-info file without information is replaced") {
    for (const std::string earlier :
         {"", "{", "[]", "7", "{}", R"({"pci":7})", R"({"type":7})", R"({"type":"pci","pci":{"vhost-net":"x"}})",
          R"({"type":"pci","a":1,"pci":{"pci-address":"0000:3b:00.3","vhost-net":"x"}})",
          R"({"type":"pci","pci":{"pci-address":5,"vhost-net":"x"}})"}) {
        INFO(earlier);
        CHECK(text_after(earlier) == kOurs);
    }
}

TEST_CASE("a device-info file about another kind of device stays as it is") {
    CHECK(text_after(R"({"type":"vdpa","version":"1.1.0","vdpa":{"path":"/dev/vhost-vdpa-1"}})") == "as it is");
}
