#include "pace.hpp"

#include <rdmanet/http/pause.hpp>

#include <algorithm>
#include <chrono>

namespace rdmanet::cluster {
namespace {

using std::chrono::milliseconds;

} // namespace

void pause_before(int attempt, const base::Deadline& deadline) {
    constexpr milliseconds kShortest{4};
    constexpr milliseconds kLongest{256};
    if (attempt == 0) return;
    http::pause(std::min({http::with_jitter(std::min(kShortest * (1 << std::min(attempt, 6)), kLongest)),
                          std::max(deadline.remaining(), milliseconds(0))}));
}

} // namespace rdmanet::cluster
