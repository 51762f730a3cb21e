// Ports of NICs that the software NIC is not like, and what counters mean.
#include "port_counters.hpp"
#include "port_machine.hpp"

namespace rdmanet::doctor {
namespace {

using Catch::Contains;
using kernel::Statistic;

constexpr std::chrono::milliseconds kPeriod{250};

/// What the doctor says to statistics that were these before, and are these now.
std::string says(const std::vector<Statistic>& before, const std::vector<Statistic>& now) {
    std::string text;
    for (const PortTrouble& each : judge(growth_of(port_counters_of(before), port_counters_of(now)), kPeriod, "ens1"))
        text += each.what + " | " + each.cure + "\n";
    return text;
}

std::string grown(const std::string& name, std::uint64_t value) {
    return says({{"rx_packets", 1}, {name, 70}}, {{"rx_packets", 100000}, {name, 70 + value}});
}

} // namespace

TEST_CASE("a driver that counts only frames is judged by them") {
    const std::string found = grown("rx_priority_3_xoff.nic", 1000);
    CHECK(found.starts_with("ens1 got 4000 pause frames in a second (rx_priority_3_xoff.nic) | on the switch"));
    CHECK(is_documented("storm", "a NIC of Intel, which counts pause frames only", "warning | ens1 | " + found));
    CHECK(grown("rx_priority_3_xoff.nic", 200).empty());
    for (const char* name :
         {"rx_pfc_ena_frames_pri3", "link_xoff_rx.nic", "port.rx_priority_0_xoff_rx", "rx_pause_frames"})
        CHECK_THAT(grown(name, 1000), Contains("ens1 got 4000 pause frames"));
    for (const char* name : {"tx_pfc_ena_frames_pri3", "tx_priority_7_xoff.nic"})
        CHECK_THAT(grown(name, 1000), Contains("ens1 sent 4000 pause frames"));
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
    CHECK_THAT(after(92500), Contains("its peer paused ens1 for 37 % of the last 250 ms (rx_prio3_pause_duration)") &&
                                 !Contains("in a second"));
    CHECK(after(10000).empty());
    CHECK_THAT(after(12500), Contains("for 5 %"));
    CHECK_THAT(after(900000), Contains("for 100 %"));
    CHECK_THAT(grown("pfc_pri3_rx_duration_us", 92500), Contains("its peer paused ens1 for 37 %"));
    CHECK_THAT(grown("tx_global_pause_duration", 92500), Contains("ens1 paused its peer for 37 %"));
}

TEST_CASE("stalls and lost packets are never normal, and a counter that begins anew is not one") {
    CHECK_THAT(grown("tx_pause_storm_error_events", 1), Contains("without end"));
    CHECK_THAT(grown("rx_discards_phy", 1), Contains("ens1 dropped 1 received packets"));
    CHECK(says({{"rx_discards_phy", 5}}, {{"rx_discards_phy", 0}}).empty());
    CHECK(says({}, {{"rx_discards_phy", 5}}).empty());
    CHECK(says({{"rx_discards_phy", 5}}, {}).empty());
}

TEST_CASE("a node whose drivers count no pauses says so") {
    const PortMachine port;
    CHECK(port.found_by("storm").empty());
    CHECK_THAT(port.why_not("storm"), Contains("no driver of an RDMA port counts pause frames"));
}

TEST_CASE("buffers are only asked for where PFC is on, and a wrong number is no buffer") {
    PortMachine port;
    CHECK(port.found_by("buffers").empty()); // the driver does not say
    auto& buffers = port.flow().buffers.emplace();
    buffers.of_priority[3] = 1;
    buffers.sizes[1] = 131072;
    CHECK(port.found_by("buffers").empty());
    buffers.of_priority[3] = 200;
    CHECK_THAT(port.found_by("buffers"), Contains("its buffer 200 has 0 bytes"));
    port.flow().pfc = 0;
    CHECK(port.found_by("buffers").empty());
}

TEST_CASE("what the kernel says of trust counts more than OFED's file") {
    PortMachine port;
    port.make("sys/class/net/ens1/qos");
    port.write("sys/class/net/ens1/qos/trust", "dscp");
    CHECK(port.found_by("trust").empty());
    port.flow().trust = kernel::PriorityTrust{.pcp = true};
    const std::string found = port.found_by("trust");
    CHECK_THAT(found,
               Contains("info | 0000:3b:00.0 (ens1) | ") && Contains("`dcb apptrust set dev ens1 order dscp pcp`"));
    CHECK(is_documented("trust", "the kernel says that the driver trusts pcp only", found));
    port.flow().trust->dscp = true;
    port.write("sys/class/net/ens1/qos/trust", "pcp");
    CHECK(port.found_by("trust").empty());
}

} // namespace rdmanet::doctor
