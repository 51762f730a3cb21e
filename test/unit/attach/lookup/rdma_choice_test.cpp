// Which of a function's RDMA devices are meant.
#include "conf.hpp"

#include "lookup/rdma_choice.hpp"

#include <rdmanet/base/text.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet::attach;
using namespace rdmanet;

namespace {

const base::BusAddress kFunction = base::BusAddress::parse("0000:3b:00.2").value();

/// Those that move and, behind a bar, those that stay, as the configuration has it of a function with three.
std::string chosen(const std::string& rdma) {
    const config::Config config = config::config_with(base::concat(R"("attach": "sriov", "rdma": )", rdma));
    const RdmaSelection selection =
        choose_rdma(kFunction, config.rdma,
                    {{.index = 9, .name = "ibp1"}, {.index = 7, .name = "rocep1"}, {.index = 8, .name = "rocep1d1"}});
    std::string text;
    for (const kernel::RdmaDevice& device : selection.moving) text += base::concat(device.name, ' ');
    text += '|';
    for (const kernel::RdmaDevice& device : selection.staying) text += base::concat(' ', device.name);
    return text;
}

} // namespace

TEST_CASE("RDMA devices are chosen by their place in the order of their making, or by a pattern") {
    CHECK(chosen("true") == "rocep1 rocep1d1 ibp1 |");
    CHECK(chosen(R"({"device": 0})") == "rocep1 | rocep1d1 ibp1");
    CHECK(chosen(R"({"device": 2})") == "ibp1 | rocep1 rocep1d1");
    CHECK(chosen(R"({"device": "*d?"})") == "rocep1d1 | rocep1 ibp1");
    CHECK(chosen(R"({"device": "roce*"})") == "rocep1 rocep1d1 | ibp1");
    CHECK(chosen(R"({"device": "ibp1"})") == "ibp1 | rocep1 rocep1d1");
    CHECK_THROWS_WITH(chosen(R"({"device": 3})"),
                      "rdma.device: 3 is no RDMA device of 0000:3b:00.2, of whose RDMA devices 0 is \"rocep1\", 1 is "
                      "\"rocep1d1\", 2 is \"ibp1\": set it to one of these numbers, or to a pattern of names");
    CHECK_THROWS_WITH(chosen(R"({"device": "r*", "name": "rdma0"})"),
                      Catch::StartsWith("rdma.name: \"rdma0\" is one name for 2 RDMA devices of 0000:3b:00.2, of which "
                                        "0 is \"rocep1\", "));
    CHECK(chosen(R"({"device": 0, "name": "rdma0"})") == "rocep1 | rocep1d1 ibp1");
    CHECK_THROWS_WITH(chosen(R"({"device": "mlx5_*"})"),
                      Catch::StartsWith("rdma.device: \"mlx5_*\" is no RDMA device of 0000:3b:00.2"));
}

TEST_CASE("the RDMA devices that a driver makes when it is bound anew are chosen by their places") {
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
                      Catch::StartsWith("rdma.device: \"*d?\" is no RDMA device of 0000:3b:00.2"));
}

TEST_CASE("a chosen RDMA device goes into the pod, whatever the node's mode lets otherwise") {
    CHECK(config::config_with(R"("attach": "sriov", "rdma": {"device": 1})").rdma.isolation == true);
    CHECK_THROWS_WITH(config::config_with(R"("attach": "sriov", "rdma": {"device": 1, "mode": "shared"})"),
                      "rdma.device: expected no key, as \"rdma\" says that RDMA devices stay on the host, found 1");
    CHECK_FALSE(config::config_with(R"("rdma": {"linkLocalGids": false})").rdma.link_local_gids);
    CHECK_THROWS_WITH(config::config_with(R"("rdma": {"device": "x"})"),
                      "rdma.device: \"x\" is for an RDMA device that goes into the pod, this is macvlan: remove it, or "
                      "set \"attach\": \"sriov\"");
    CHECK_THROWS_WITH(config::config_with(R"("attach": "sriov", "rdma": {"device": ""})"),
                      "rdma.device: expected a number from 0, or a name of an RDMA device, in which * and ? stand for "
                      "anything, found \"\"");
}
