#include "whereabouts_pace.hpp"

#include <rdmanet/http/pause.hpp>

#include <algorithm>
#include <chrono>

namespace rdmanet::cluster {
namespace {

using std::chrono::milliseconds;

// The pause after a lost race: up to four times what the try took, then up to sixteen times, and so on.
constexpr int kGrowth = 4;
constexpr milliseconds kLongestPause{8000};
constexpr milliseconds kSlowRead{250};

} // namespace

void pause_before(int attempt, const base::Deadline& deadline) {
    constexpr milliseconds kShortest{4};
    constexpr milliseconds kLongest{256};
    if (attempt == 0) return;
    http::pause(std::min({http::with_jitter(std::min(kShortest * (1 << std::min(attempt, 6)), kLongest)),
                          std::max(deadline.remaining(), milliseconds(0))}));
}

/// The server works on each patch of a pool alone. What it has begun of the others is lost when one is done, and it
/// begins them anew. So the lowest free address is the right one, also for many: those who were too late are sent
/// away at once, by the test of its record. The time over which they then spread grows fast, because a try that is
/// lost costs the server as much as one that is not.
void let_others_go_first(int lost_races, base::Deadline::Clock::duration tried, const base::Deadline& deadline) {
    const auto most = std::min(kLongestPause, deadline.remaining() / 3);
    auto longest = std::chrono::ceil<milliseconds>(tried);
    for (int lost = 0; lost < lost_races && longest < most; ++lost) longest *= kGrowth;
    http::pause(http::any_part_of(std::min(longest, most)));
}

bool is_busy(base::Deadline::Clock::duration read) {
    return read >= kSlowRead;
}

} // namespace rdmanet::cluster
