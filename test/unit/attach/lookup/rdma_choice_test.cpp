// Which RDMA devices the configuration chooses, and which port an interface has.
#include "conf.hpp"

#include "lookup/rdma_choice.hpp"
#include "lookup/rdma_devices.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "unit/attach/operations/rig.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet::attach;
using namespace rdmanet;
using rdmanet::test::concat;
using rdmanet::test::Names;

namespace {

const base::BusAddress kFunction = base::BusAddress::parse("0000:3b:00.2").value();

/// For a function with three RDMA devices: the chosen ones and, behind a bar, the others.
std::string chosen(const std::string& rdma) {
    const config::Config config = config::config_with(concat(R"("attach": "sriov", "rdma": )", rdma));
    const RdmaSelection selection =
        choose_rdma(kFunction, config.rdma,
                    {{.index = 9, .name = "ibp1"}, {.index = 7, .name = "rocep1"}, {.index = 8, .name = "rocep1d1"}});
    std::string text;
    for (const kernel::RdmaDevice& device : selection.moving) text += concat(device.name, ' ');
    text += '|';
    for (const kernel::RdmaDevice& device : selection.staying) text += concat(' ', device.name);
    return text;
}

} // namespace

TEST_CASE("RDMA devices are chosen by their place in the order of creation, or by a pattern") {
    CHECK(chosen("true") == "rocep1 rocep1d1 ibp1 |");
    CHECK(chosen(R"({"device": 0})") == "rocep1 | rocep1d1 ibp1");
    CHECK(chosen(R"({"device": 2})") == "ibp1 | rocep1 rocep1d1");
    CHECK(chosen(R"({"device": "*d?"})") == "rocep1d1 | rocep1 ibp1");
    CHECK(chosen(R"({"device": "roce*"})") == "rocep1 rocep1d1 | ibp1");
    CHECK(chosen(R"({"device": "ibp1"})") == "ibp1 | rocep1 rocep1d1");
    CHECK_THROWS_WITH(chosen(R"({"device": 3})"), Names("rdma.device", "0000:3b:00.2", "device 3", "0 (\"rocep1\")",
                                                        "1 (\"rocep1d1\")", "2 (\"ibp1\")"));
    CHECK_THROWS_WITH(chosen(R"({"device": "r*", "name": "rdma0"})"),
                      Catch::StartsWith("rdma.name: \"rdma0\" ") && Catch::Contains("2 RDMA devices of 0000:3b:00.2") &&
                          Catch::Contains("0 (\"rocep1\"), "));
    CHECK(chosen(R"({"device": 0, "name": "rdma0"})") == "rocep1 | rocep1d1 ibp1");
    CHECK_THROWS_WITH(chosen(R"({"device": "mlx5_*"})"), Names("rdma.device", "0000:3b:00.2", "RDMA", "mlx5_*"));
}

TEST_CASE("after a driver was bound again its RDMA devices are chosen by their places") {
    const config::Config config = config::config_with(R"("attach": "sriov", "rdma": {"device": "*d?"})");
    const RdmaSelection before =
        choose_rdma(kFunction, config.rdma,
                    {{.index = 7, .name = "rocep1"}, {.index = 8, .name = "rocep1d1"}, {.index = 9, .name = "ibp1"}});
    const RdmaSelection again = choose_rdma_again(
        kFunction, config.rdma, before,
        {{.index = 14, .name = "mlx5_6"}, {.index = 12, .name = "mlx5_4"}, {.index = 13, .name = "mlx5_5"}});
    REQUIRE(again.moving.size() == 1);
    CHECK(again.moving.front().name == "mlx5_5");
    CHECK(again.staying.size() == 2);
    CHECK_THROWS_WITH(choose_rdma_again(kFunction, config.rdma, again, {{.index = 15, .name = "mlx5_7"}}),
                      Names("rdma.device", "0000:3b:00.2", "RDMA", "*d?"));
}

TEST_CASE("a chosen RDMA device moves into the pod, whatever the default of the node's mode is") {
    CHECK(config::config_with(R"("attach": "sriov", "rdma": {"device": 1})").rdma.isolation == true);
    CHECK_THROWS_WITH(config::config_with(R"("attach": "sriov", "rdma": {"device": 1, "mode": "shared"})"),
                      Names("rdma.device", "1", "rdma.mode"));
    CHECK_FALSE(config::config_with(R"("rdma": {"linkLocalGids": false})").rdma.link_local_gids);
    CHECK_THROWS_WITH(config::config_with(R"("rdma": {"device": "x"})"),
                      Catch::StartsWith("rdma.device: \"x\" ") && Catch::Contains("\"macvlan\""));
    CHECK_THROWS_WITH(config::config_with(R"("attach": "sriov", "rdma": {"device": ""})"),
                      Catch::StartsWith("rdma.device: ") && Catch::EndsWith("found \"\""));
}

TEST_CASE("of several ports that of the interface is found by its net device, or on InfiniBand by its GID") {
    const rdmanet::attach::test::Rig rig({});
    kernel::Socket rdma = kernel::Socket::find_rdma(base::Deadline::in(std::chrono::seconds(60))).value();
    for (const auto& [name, device] : {std::pair("eth0v1", "mlx5_2"), std::pair("ib0v0", "mlx5_4")})
        CHECK(find_port_of(rdma, kernel::list_rdma_devices(rdma), rig.machine.netdev(name).link, nullptr)
                  .value_or(kernel::RdmaPort{})
                  .device == device);
}
