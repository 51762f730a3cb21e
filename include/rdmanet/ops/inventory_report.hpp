// An inventory for people and programs.
#pragma once

#include <rdmanet/inventory/inventory.hpp>

#include <cstdint>
#include <string>

namespace rdmanet::ops {

enum class Columns : std::uint8_t { usual, wide };

/// Three tables: the node, its network functions, and the interfaces that can use RDMA. What could not be seen follows.
[[nodiscard]] std::string to_table(const inventory::Inventory& inventory, Columns columns = Columns::usual);

/// docs/inventory.md describes the keys.
[[nodiscard]] std::string to_json(const inventory::Inventory& inventory);

/// A picture of host bridges, switches, functions and pods: one SVG file that needs no other.
[[nodiscard]] std::string to_svg(const inventory::Inventory& inventory);

} // namespace rdmanet::ops
