// The message about an RDMA port that is not active.
#include "lookup/port_state.hpp"

#include "support/names.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::attach {

using kernel::PortState;
using kernel::RdmaPort;
using rdmanet::test::Names;

TEST_CASE("the message about an inactive port has its states and the matching fix") {
    RdmaPort port;
    port.device = "mlx5_0";
    port.port = 1;
    port.state = PortState::down;
    port.physical_state = 2;
    CHECK_THAT(inactive_port_text(port, "eth1"),
               Names("port 1", "mlx5_0", "not active", "state down", "polling", "eth1", "link_state"));
    port.lid = 65535;
    port.sm_lid = 0;
    CHECK_THAT(inactive_port_text(port, "ib0"),
               Names("port 1", "mlx5_0", "not active", "state down", "LID 65535", "SM LID 0", "ib0", "link_state"));
    port.state = PortState::initializing;
    port.physical_state = 5;
    port.lid = 0;
    CHECK_THAT(inactive_port_text(port, "ib0"),
               Names("port 1", "mlx5_0", "not active", "state init", "LID 0", "SM LID 0", "subnet manager", "opensm"));
    port.physical_state = 200;
    port.state = PortState::armed;
    CHECK_THAT(port.states_text(), Names("state armed", "state unknown", "LID 0", "SM LID 0"));
}

} // namespace rdmanet::attach
