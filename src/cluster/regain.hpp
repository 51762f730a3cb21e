// What the stores have in common where they make again what living attachments lack.
#pragma once

namespace rdmanet::cluster {

/// Of one object or key, which somebody else changes at the same time.
inline constexpr int kMostRegainTries = 10;
inline constexpr const char* kTakeAnother = "delete the pod, so that it gets another address";

} // namespace rdmanet::cluster
