// What this binary was built from.
#pragma once

namespace rdmanet::cmd {

inline constexpr char kVersion[] = RDMANET_VERSION;

/// Of the sources: twelve digits, with "-dirty" behind where the tree had changes. Made at each build:
/// cmake/commit.cmake.
extern const char kCommit[];

} // namespace rdmanet::cmd
