// Whether RDMA devices move into the pod, on nodes in both modes and on kernels without modes.
#include "conf.hpp"

#include "lookup/rdma_devices.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet::attach;
using namespace rdmanet;
using rdmanet::test::concat;
using rdmanet::test::Names;

namespace {

constexpr kernel::RdmaSystem kShared{.netns_mode = kernel::RdmaNetnsMode::shared};
constexpr kernel::RdmaSystem kExclusive{.netns_mode = kernel::RdmaNetnsMode::exclusive};
constexpr kernel::RdmaSystem kWithoutModes{};

bool moves(const std::string& rdma, const kernel::RdmaSystem& system) {
    const config::Config config = config::config_with(concat(R"("attach": "sriov", "rdma": )", rdma));
    return moves_rdma(config.rdma, system, "net");
}

} // namespace

TEST_CASE("RDMA devices move as the network says, or else as the node's mode allows") {
    CHECK(moves("true", kExclusive));
    CHECK_FALSE(moves("true", kShared));
    CHECK_FALSE(moves("true", kWithoutModes));
    CHECK_FALSE(moves(R"({"mode": "shared"})", kWithoutModes));
    CHECK_THROWS_WITH(moves(R"({"mode": "exclusive"})", kShared),
                      Names("rdma netns mode is shared", "\"net\"", "`rdma system set netns exclusive`"));
}

TEST_CASE("a kernel that cannot move RDMA devices is told from a node in mode shared") {
    CHECK_THROWS_WITH(
        moves(R"({"mode": "exclusive"})", kWithoutModes),
        Names("the kernel of this node cannot move RDMA devices", "\"net\"", "Linux 5.3", "\"macvlan\"") &&
            !Catch::Contains("rdma system set"));
}
