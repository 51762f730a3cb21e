// What is measured, one stage after the other. Each has a client's and a server's side, which run at the same time.
#pragma once

#include "connection.hpp"
#include "watch.hpp"

#include <rdmanet/verify/report.hpp>

#include <chrono>

namespace rdmanet::verify {

/// Before the stage: a receive request must wait when the first message comes.
void prepare_pings(Connection& connection);
[[nodiscard]] Ping ping_as_client(Connection& connection, Watch& watch);
void ping_as_server(Connection& connection, Watch& watch);

/// Writes for about `time`. The server's program has nothing to do.
[[nodiscard]] Bandwidth measure_bandwidth(Connection& connection, Watch& watch, std::chrono::milliseconds time);

/// Before the stage, at both ends: nothing has arrived.
void prepare_writes(Connection& connection);
/// Writes there and back for about `time`. The server's side ends when the client says so by its last write.
[[nodiscard]] Latency measure_latency(Connection& connection, Watch& watch, std::chrono::milliseconds time);
void answer_writes(Connection& connection, Watch& watch);

} // namespace rdmanet::verify
