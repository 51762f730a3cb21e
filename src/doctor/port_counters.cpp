#include "port_counters.hpp"

#include <rdmanet/base/format.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <utility>

namespace rdmanet::doctor {
namespace {

struct KnownCounter {
    PortEvent event;
    std::string_view name; // '#' stands for a priority
};

constexpr KnownCounter kKnownCounters[] = {
    // mlx5: Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst
    {PortEvent::paused, "rx_prio#_pause_duration"},
    {PortEvent::paused, "rx_global_pause_duration"},
    {PortEvent::pausing, "tx_prio#_pause_duration"},
    {PortEvent::pausing, "tx_global_pause_duration"},
    {PortEvent::pause_frame, "rx_prio#_pause"},
    {PortEvent::pause_frame, "rx_global_pause"},
    {PortEvent::pause_frame, "rx_pause_ctrl_phy"},
    {PortEvent::sent_frame, "tx_prio#_pause"},
    {PortEvent::sent_frame, "tx_global_pause"},
    {PortEvent::sent_frame, "tx_pause_ctrl_phy"},
    {PortEvent::stall, "tx_pause_storm_warning_events"},
    {PortEvent::stall, "tx_pause_storm_error_events"},
    {PortEvent::discard, "rx_discards_phy"},
    {PortEvent::discard, "rx_prio#_discards"},
    // bnxt_en: drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c; qede has the frames, too
    {PortEvent::paused, "pfc_pri#_rx_duration_us"},
    {PortEvent::pausing, "pfc_pri#_tx_duration_us"},
    {PortEvent::pause_frame, "rx_pfc_ena_frames_pri#"},
    {PortEvent::pause_frame, "rx_pfc_frames"},
    {PortEvent::pause_frame, "rx_pause_frames"},
    {PortEvent::sent_frame, "tx_pfc_ena_frames_pri#"},
    {PortEvent::sent_frame, "tx_pfc_frames"},
    {PortEvent::sent_frame, "tx_pause_frames"},
    // ice and i40e: ice_ethtool.c, i40e_ethtool.c
    {PortEvent::pause_frame, "rx_priority_#_xoff.nic"},
    {PortEvent::pause_frame, "link_xoff_rx.nic"},
    {PortEvent::sent_frame, "tx_priority_#_xoff.nic"},
    {PortEvent::sent_frame, "link_xoff_tx.nic"},
    {PortEvent::pause_frame, "port.rx_priority_#_xoff_rx"},
    {PortEvent::pause_frame, "port.link_xoff_rx"},
    {PortEvent::sent_frame, "port.tx_priority_#_xoff_tx"},
    {PortEvent::sent_frame, "port.link_xoff_tx"},
};

bool matches(std::string_view name, std::string_view pattern) {
    return std::equal(name.begin(), name.end(), pattern.begin(), pattern.end(), [](char c, char expected) {
        return expected == '#' ? std::isdigit(static_cast<unsigned char>(c)) != 0 : c == expected;
    });
}

std::optional<PortCounter> parse_counter(const kernel::Statistic& statistic) {
    const std::string& name = statistic.name;
    const auto known = std::find_if(std::begin(kKnownCounters), std::end(kKnownCounters),
                                    [&](const KnownCounter& each) { return matches(name, each.name); });
    if (known == std::end(kKnownCounters)) return std::nullopt;
    PortCounter counter{.event = known->event, .name = name, .value = statistic.value};
    const std::size_t digit = known->name.find('#');
    if (known->event == PortEvent::discard && digit != std::string_view::npos)
        counter.priority = static_cast<unsigned>(name[digit] - '0');
    return counter;
}

constexpr std::string_view kSlowPeer =
    "on the switch, look for the port that gets pause frames itself: the host behind it receives too slowly";
constexpr std::string_view kSlowHost =
    "this host receives too slowly: look at the PCIe link (check pcie-link), and for programs that hang or post too "
    "few buffers";
constexpr std::string_view kLossyPort =
    "switch PFC on for the priority of RoCE (checks pfc and buffers), or ECN, and the same on the switch";

/// nullopt if the growth is normal.
std::optional<PortTrouble> judge(const PortCounter& growth, std::chrono::milliseconds period,
                                 const std::string& interface) {
    constexpr std::uint64_t kNormalPercent = 5;
    constexpr std::uint64_t kNormalFrames = 1000; // in a second
    const auto ms = static_cast<std::uint64_t>(std::max(period.count(), std::int64_t{1}));
    const std::uint64_t percent = std::min<std::uint64_t>(growth.value / (ms * 10), 100); // of microseconds
    const std::uint64_t in_a_second = growth.value * 1000 / ms;
    const std::string when = fmt::format("of the last {} ms ({})", ms, growth.name);
    switch (growth.event) {
    case PortEvent::paused:
        if (percent < kNormalPercent) return std::nullopt;
        return PortTrouble{.what = fmt::format("its peer paused {} for {} % {}", interface, percent, when),
                           .fix = std::string(kSlowPeer)};
    case PortEvent::pausing:
        if (percent < kNormalPercent) return std::nullopt;
        return PortTrouble{.what = fmt::format("{} paused its peer for {} % {}", interface, percent, when),
                           .fix = std::string(kSlowHost)};
    case PortEvent::pause_frame:
        if (in_a_second < kNormalFrames) return std::nullopt;
        return PortTrouble{
            .what = fmt::format("{} got {} pause frames in a second ({})", interface, in_a_second, growth.name),
            .fix = std::string(kSlowPeer)};
    case PortEvent::sent_frame:
        if (in_a_second < kNormalFrames) return std::nullopt;
        return PortTrouble{
            .what = fmt::format("{} sent {} pause frames in a second ({})", interface, in_a_second, growth.name),
            .fix = std::string(kSlowHost)};
    case PortEvent::stall:
        return PortTrouble{.what = fmt::format("{} paused its peer without end, which its NIC counted {} times in the "
                                               "last {} ms ({})",
                                               interface, growth.value, ms, growth.name),
                           .fix = std::string(kSlowHost)};
    case PortEvent::discard: break;
    }
    return std::nullopt; // judge_loss()
}

PortTrouble judge_loss(const PortCounter& growth, std::chrono::milliseconds period, const std::string& interface,
                       unsigned pfc) {
    constexpr std::uint64_t kMany = 100; // in a second
    const auto ms = static_cast<std::uint64_t>(std::max(period.count(), std::int64_t{1}));
    PortTrouble trouble{.what = fmt::format("{} dropped {} received packets in the last {} ms ({})", interface,
                                            growth.value, ms, growth.name),
                        .fix = std::string(kLossyPort),
                        .severity = growth.value * 1000 / ms < kMany ? Severity::info : Severity::warning};
    if (growth.priority && pfc != 0 && (pfc >> *growth.priority & 1U) == 0)
        trouble.what += fmt::format(": priority {} has no PFC, so RoCE may not be concerned", *growth.priority);
    return trouble;
}

} // namespace

std::vector<PortCounter> port_counters_of(const std::vector<kernel::Statistic>& statistics) {
    std::vector<PortCounter> counters;
    for (const kernel::Statistic& each : statistics)
        if (auto counter = parse_counter(each)) counters.push_back(*std::move(counter));
    return counters;
}

std::vector<PortCounter> growth_of(const std::vector<PortCounter>& first, const std::vector<PortCounter>& second) {
    std::map<std::pair<PortEvent, std::optional<unsigned>>, PortCounter> growth;
    for (const PortCounter& now : second) {
        const auto before = std::ranges::find_if(first, [&](const PortCounter& each) { return each.name == now.name; });
        if (before == first.end() || now.value <= before->value) continue; // a reset of the driver clears counters
        PortCounter& most = growth[{now.event, now.priority}];
        if (now.value - before->value > most.value) {
            most = now;
            most.value -= before->value;
        }
    }
    std::vector<PortCounter> all;
    all.reserve(growth.size());
    for (auto& [key, counter] : growth) all.push_back(std::move(counter));
    return all;
}

std::vector<PortTrouble> judge(const std::vector<PortCounter>& growth, std::chrono::milliseconds period,
                               const std::string& interface, unsigned pfc) {
    const auto grew = [&](PortEvent event) {
        return std::ranges::any_of(growth, [&](const PortCounter& each) { return each.event == event; });
    };
    const bool has_priorities =
        std::ranges::any_of(growth, [](const PortCounter& each) { return each.priority.has_value(); });
    std::vector<PortTrouble> troubles;
    for (const PortCounter& each : growth) {
        // How long says more than how often.
        if (each.event == PortEvent::pause_frame && grew(PortEvent::paused)) continue;
        if (each.event == PortEvent::sent_frame && grew(PortEvent::pausing)) continue;
        if (each.event != PortEvent::discard) {
            if (auto trouble = judge(each, period, interface)) troubles.push_back(*std::move(trouble));
        } else if (each.priority || !has_priorities) // rx_discards_phy counts those of all priorities
            troubles.push_back(judge_loss(each, period, interface, pfc));
    }
    return troubles;
}

} // namespace rdmanet::doctor
