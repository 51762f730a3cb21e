// How nodes that compete for a pool get out of each other's way.
#pragma once

#include <rdmanet/base/deadline.hpp>

namespace rdmanet::cluster {

/// Of one address. Each means that another writer was faster, or that an answer was lost.
inline constexpr int kMostTries = 30;

/// Those who lost a race against each other don't meet again at once. The first try waits for nobody, and the second
/// one hardly: as a rule there is just one other.
void pause_before(int attempt, const base::Deadline& deadline);

} // namespace rdmanet::cluster
