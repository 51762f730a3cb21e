// Counters of an Ethernet port that show whether its traffic is paused, stalled or lost.
#pragma once

#include <rdmanet/doctor/doctor.hpp>
#include <rdmanet/kernel/statistics.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::doctor {

enum class PortEvent : std::uint8_t {
    paused,      // by the peer: microseconds
    pausing,     // of the peer: microseconds
    pause_frame, // from the peer
    sent_frame,  // to the peer
    stall,       // the port paused its peer for so long that the NIC intervened
    discard,     // of received packets, for lack of room
};

/// One of a port's counters.
struct PortCounter {
    PortEvent event = PortEvent::paused;
    std::string name; // the driver's
    std::uint64_t value = 0;
    std::optional<unsigned> priority{}; // of lost packets that are counted by priority
};

/// The known counters among a driver's statistics.
[[nodiscard]] std::vector<PortCounter> port_counters_of(const std::vector<kernel::Statistic>& statistics);

/// What grew between two samples, for each event the counter that grew most, in the order of PortEvent. Losses that are
/// counted by priority are kept apart.
[[nodiscard]] std::vector<PortCounter> growth_of(const std::vector<PortCounter>& first,
                                                 const std::vector<PortCounter>& second);

/// "its peer paused rnic1p0 for 37 % of the last 250 ms (rx_prio3_pause_duration)", and what to do.
struct PortTrouble {
    std::string what;
    std::string fix;
    Severity severity = Severity::warning;
};
/// `growth` is that of `interface` in `period`. Bit P of `pfc`: PFC is on for priority P. Pauses of less than 5 % are
/// normal with PFC, and so are less than 1000 frames in a second. Less than 100 lost packets in a second are no
/// warning: TCP's bursts lose some.
[[nodiscard]] std::vector<PortTrouble> judge(const std::vector<PortCounter>& growth, std::chrono::milliseconds period,
                                             const std::string& interface, unsigned pfc);

} // namespace rdmanet::doctor
