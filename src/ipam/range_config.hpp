// One element of the range list: `range`, `range_start`, `range_end`, `exclude`.
#pragma once

#include <rdmanet/ipam/range.hpp>
#include <rdmanet/json/reader.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::ipam {

/// Parts that whereabouts silently ignores.
struct Remarks {
    std::vector<std::string> warnings;
    std::optional<json::ValueError> fault; // the first error that makes it another range than the one that is meant
};

/// The range that the members of `element` describe, excludes taken out. Throws ValueError.
[[nodiscard]] Range parse_range(const json::Reader& element, Edges edges, Remarks& remarks);

} // namespace rdmanet::ipam
