// One element of the range list: `range`, `range_start`, `range_end`, `exclude`.
#pragma once

#include <rdmanet/ipam/range.hpp>
#include <rdmanet/json/reader.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::ipam {

/// The range that the members of `element` describe, excludes taken out. Throws ValueError; adds to `warnings` what
/// whereabouts silently ignores.
[[nodiscard]] Range parse_range(const json::Reader& element, Edges edges, std::vector<std::string>& warnings);

} // namespace rdmanet::ipam
