// Ports of NICs that the software NIC is not like, and what counters mean.
#include "machine.hpp"
#include "port_counters.hpp"

namespace rdmanet::doctor {
namespace {

using kernel::Statistic;

constexpr std::chrono::milliseconds kPeriod{250};

/// What the doctor says to statistics that were these before, and are these now.
std::string says(const std::vector<Statistic>& before, const std::vector<Statistic>& now, unsigned pfc = 0) {
    std::string text;
    for (const PortTrouble& each :
         judge(growth_of(port_counters_of(before), port_counters_of(now)), kPeriod, "ens1", pfc))
        text += std::string(to_string(each.severity)) + " | ens1 | " + each.what + " | " + each.fix + "\n";
    return text;
}

std::string grown(const std::string& name, std::uint64_t value) {
    return says({{"rx_packets", 1}, {name, 70}}, {{"rx_packets", 100000}, {name, 70 + value}});
}

} // namespace

TEST_CASE("a port without a link is reported if an interface that is up wants it") {
    PortMachine machine;
    auto& device = machine.inventory.devices.front();
    device.rdma.front().ports.push_back(
        {.number = 1, .state = kernel::PortState::down, .physical_state = "Polling", .net_device = "ens1"});
    CHECK_THAT(machine.found_by("port-state"),
               Has("port 1 of mlx5_0 is down, physical state Polling", "check the cable"));
    device.net.front().is_up = false;
    CHECK(machine.found_by("port-state").empty());
    device.rdma.front().ports.front().link_layer = "InfiniBand";
    device.rdma.front().ports.front().physical_state = "LinkUp";
    CHECK_THAT(machine.found_by("port-state"), Has("port 1 of mlx5_0 is down, with LID 0"));
    device.rdma.front().ports.front().state = kernel::PortState::active;
    CHECK(machine.found_by("port-state").empty());
}

TEST_CASE("a driver that counts only frames is judged by them") {
    const std::string found = grown("rx_priority_3_xoff.nic", 1000);
    CHECK(found.starts_with(
        "warning | ens1 | ens1 got 4000 pause frames in a second (rx_priority_3_xoff.nic) | on the switch"));
    CHECK_THAT(found, Documented("storm", "a NIC of Intel, which counts pause frames only"));
    CHECK(grown("rx_priority_3_xoff.nic", 200).empty());
    for (const char* name :
         {"rx_pfc_ena_frames_pri3", "link_xoff_rx.nic", "port.rx_priority_0_xoff_rx", "rx_pause_frames"})
        CHECK_THAT(grown(name, 1000), Has("ens1 got 4000 pause frames"));
    for (const char* name : {"tx_pfc_ena_frames_pri3", "tx_priority_7_xoff.nic"})
        CHECK_THAT(grown(name, 1000), Has("ens1 sent 4000 pause frames"));
    for (const char* name : {"rx_prio3_packets", "rx_prioX_pause", "rx_prio3_pause_transition", "rx_prio33_pause", ""})
        CHECK(grown(name, 1000).empty());
}

TEST_CASE("how long a port is paused says more than how often") {
    const std::vector<Statistic> before{
        {"rx_prio3_pause", 7}, {"rx_prio3_pause_duration", 100}, {"rx_prio4_pause_duration", 0}};
    const auto after = [&](std::uint64_t us) {
        return says(
            before,
            {{"rx_prio3_pause", 100007}, {"rx_prio3_pause_duration", 100 + us}, {"rx_prio4_pause_duration", 1}});
    };
    CHECK_THAT(after(92500), Has("its peer paused ens1 for 37 % of the last 250 ms (rx_prio3_pause_duration)") &&
                                 !Has("in a second"));
    CHECK(after(10000).empty());
    CHECK_THAT(after(12500), Has("for 5 %"));
    CHECK_THAT(after(900000), Has("for 100 %"));
    CHECK_THAT(grown("pfc_pri3_rx_duration_us", 92500), Has("its peer paused ens1 for 37 %"));
    CHECK_THAT(grown("tx_global_pause_duration", 92500), Has("ens1 paused its peer for 37 %"));
}

TEST_CASE("stalls are never normal, a few lost packets are, and a counter that begins anew is neither") {
    CHECK_THAT(grown("tx_pause_storm_error_events", 1), Has("without end"));
    CHECK_THAT(grown("rx_discards_phy", 24),
               Documented("storm", "a burst of TCP loses a few packets", "| ens1 | ens1 dropped 24 received packets"));
    CHECK_THAT(grown("rx_discards_phy", 25), Has("warning | ens1 | ens1 dropped 25 received packets"));
    CHECK(says({{"rx_discards_phy", 5}}, {{"rx_discards_phy", 0}}).empty());
    CHECK(says({}, {{"rx_discards_phy", 5}}).empty());
    CHECK(says({{"rx_discards_phy", 5}}, {}).empty());
}

TEST_CASE("lost packets of a priority without PFC need not be those of RoCE") {
    constexpr unsigned kPfc = 1U << 3U;
    const std::vector<Statistic> before{{"rx_discards_phy", 0}, {"rx_prio0_discards", 0}, {"rx_prio3_discards", 0}};
    const auto lost = [&](std::uint64_t of_0, std::uint64_t of_3, unsigned pfc) {
        return says(before,
                    {{"rx_discards_phy", of_0 + of_3}, {"rx_prio0_discards", of_0}, {"rx_prio3_discards", of_3}}, pfc);
    };
    const std::string lossy = lost(250, 0, kPfc);
    CHECK_THAT(lossy, Documented("storm", "packets of a priority without PFC are lost"));
    CHECK_THAT(lossy, !Has("rx_discards_phy"));
    CHECK_THAT(lost(0, 250, kPfc), Has("(rx_prio3_discards)") && !Has("has no PFC"));
    CHECK_THAT(lost(250, 0, 0), Has("(rx_prio0_discards)") && !Has("has no PFC")); // RoCE without PFC
    CHECK_THAT(lost(500, 1, kPfc),
               Has("warning | ens1 | ens1 dropped 500 received", "info | ens1 | ens1 dropped 1 received packets"));
    CHECK_THAT(says({{"rx_discards_phy", 0}}, {{"rx_discards_phy", 250}}, kPfc), !Has("has no PFC"));
}

TEST_CASE("a node without counters of pauses says why") {
    PortMachine port;
    CHECK(port.found_by("storm").empty());
    CHECK_THAT(port.why_not("storm"), Has("no PF with RDMA is up on the host")); // ens1 has gone
    port.inventory.devices.front().net.front().name = "lo";
    port.inventory.devices.front().net.front().ifindex = 1;
    CHECK_THAT(port.why_not("storm"), Has("no driver of an RDMA port counts pause frames"));
    port.inventory.devices.front().net.front().is_up = false;
    CHECK_THAT(port.why_not("storm"), Has("no PF with RDMA is up on the host"));
}

TEST_CASE(
    "the fix gives each priority with PFC a buffer that no other priority uses, and a wrong number is no buffer") {
    PortMachine port;
    CHECK(port.found_by("buffers").empty()); // the driver does not say
    port.flow().pfc = 1U << 3U | 1U << 4U;
    auto& buffers = port.flow().buffers.emplace();
    buffers.sizes.fill(131072);
    buffers.of_priority = {0, 1, 0, 0, 0, 2, 0, 0};
    CHECK_THAT(port.found_by("buffers"),
               Has("`dcb buffer set dev ens1 prio-buffer 3:3 buffer-size 3:BYTES`",
                   "`dcb buffer set dev ens1 prio-buffer 4:4 buffer-size 4:BYTES`", "make another one smaller first"));
    buffers.of_priority = {0, 1, 0, 5, 5, 2, 0, 0}; // they share one, which is well
    CHECK(port.found_by("buffers").empty());
    buffers.sizes[5] = 0;
    CHECK_THAT(port.found_by("buffers"), Has("prio-buffer 3:3 buffer-size 3:", "prio-buffer 4:5 buffer-size 5:"));
    buffers.of_priority = {1, 2, 3, 4, 4, 5, 6, 7}; // only 0 is free
    port.flow().pfc = 1U << 3U;
    CHECK_THAT(port.found_by("buffers"), Has("prio-buffer 3:0 buffer-size 0:"));
    buffers = {};
    buffers.of_priority[3] = 1;
    buffers.sizes[1] = 131072;
    CHECK(port.found_by("buffers").empty());
    buffers.of_priority[3] = 200;
    CHECK_THAT(port.found_by("buffers"), Has("its buffer 200 has 0 bytes"));
    port.flow().pfc = 0;
    CHECK(port.found_by("buffers").empty());
}

TEST_CASE("what the kernel says of trust counts more than OFED's file") {
    PortMachine port;
    port.write("sys/class/net/ens1/qos/trust", "dscp");
    CHECK(port.found_by("trust").empty());
    port.flow().trust = kernel::PriorityTrust{.pcp = true};
    port.must_find("trust", "the kernel says that the driver trusts pcp only", "| 0000:3b:00.0 (ens1) | ",
                   "`dcb apptrust set dev ens1 order dscp pcp`");
    port.flow().trust->dscp = true;
    port.write("sys/class/net/ens1/qos/trust", "pcp");
    CHECK(port.found_by("trust").empty());
}

} // namespace rdmanet::doctor
