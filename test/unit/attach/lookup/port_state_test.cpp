// What is said of an RDMA port that isn't active.
#include "lookup/port_state.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::attach {

using kernel::PortState;
using kernel::RdmaPort;

TEST_CASE("an inactive port is told with its states, and the cure that fits them") {
    RdmaPort port;
    port.device = "mlx5_0";
    port.port = 1;
    port.state = PortState::down;
    port.physical_state = 2;
    CHECK(inactive_port_text(port, "eth1") ==
          "port 1 of RDMA device \"mlx5_0\" is not active: state down, physical state polling; check the link of "
          "\"eth1\" (cable, switch port; for a VF also its PF's link and \"link_state\")");
    port.lid = 65535;
    port.sm_lid = 0;
    CHECK(inactive_port_text(port, "ib0") ==
          "port 1 of RDMA device \"mlx5_0\" is not active: state down, physical state polling, LID 65535, SM LID 0; "
          "check the link of \"ib0\" (cable, switch port; for a VF also its PF's link and \"link_state\")");
    port.state = PortState::initializing;
    port.physical_state = 5;
    port.lid = 0;
    CHECK(inactive_port_text(port, "ib0") ==
          "port 1 of RDMA device \"mlx5_0\" is not active: state init, physical state link up, LID 0, SM LID 0; no "
          "subnet manager has brought it up: start one in the fabric, for example opensm, or look into the log of the "
          "one that runs");
    port.physical_state = 200;
    port.state = PortState::armed;
    CHECK(port.states_text() == "state armed, physical state unknown, LID 0, SM LID 0");
}

} // namespace rdmanet::attach
