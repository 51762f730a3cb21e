// The keys of the object "rdma" that choose and name RDMA devices.
#pragma once

#include <rdmanet/config/config.hpp>
#include <rdmanet/json/reader.hpp>

#include <optional>
#include <string>

namespace rdmanet::config {

/// The keys "device" and "name" of the object. Both throw json::ValueError.
[[nodiscard]] std::optional<RdmaChoice> parse_rdma_choice(const json::Reader& rdma);
[[nodiscard]] std::optional<std::string> parse_rdma_name(const json::Reader& rdma);

} // namespace rdmanet::config
