// How nodes that compete for a pool get out of each other's way.
#pragma once

#include <rdmanet/base/deadline.hpp>

namespace rdmanet::cluster {

/// Of one address. Each means that another writer was faster, or that an answer was lost.
inline constexpr int kMostTries = 30;

/// Those who lost a race against each other don't meet again at once. The first try waits for nobody, and the second
/// one hardly: as a rule there is just one other.
void pause_before(int attempt, const base::Deadline& deadline);

/// After a try that was lost, one of `lost_races` so far, and took so long.
void let_others_go_first(int lost_races, base::Deadline::Clock::duration tried, const base::Deadline& deadline);

/// A server that needs so long for a pool has many at once to serve.
[[nodiscard]] bool is_busy(base::Deadline::Clock::duration read);

} // namespace rdmanet::cluster
