// The messages of the two ends to each other: JSON, one line each.
#pragma once

#include "failure.hpp"
#include "queue_address.hpp"

#include <rdmanet/json/reader.hpp>
#include <rdmanet/verify/report.hpp>

#include <string>
#include <string_view>

namespace rdmanet::verify {

inline constexpr int kVersion = 1; // of the messages

/// The client's first message.
[[nodiscard]] std::string to_hello(std::string_view token);

/// What an end says of itself.
struct End {
    Endpoint endpoint; // without what only its own node needs
    QueueAddress queue;
};

[[nodiscard]] std::string to_message(const End& end);
/// Throws base::Error.
[[nodiscard]] End parse_end(const json::Document& message);

/// The results, which the client measures and the server reports, too.
[[nodiscard]] std::string to_results(const Report& report);
void parse_results(const json::Document& message, Report& report);

[[nodiscard]] std::string to_failure(const Failure& failure);
/// Throws base::Error.
[[nodiscard]] PeersFailure parse_failure(const json::Document& message);
/// A message without content.
[[nodiscard]] std::string to_signal(std::string_view type);

} // namespace rdmanet::verify
