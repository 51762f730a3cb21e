// The sources of this binary.
#pragma once

namespace rdmanet::cmd {

inline constexpr char kVersion[] = RDMANET_VERSION;

/// The commit: twelve digits, followed by "-dirty" if the tree had changes. Generated at each build by
/// cmake/commit.cmake.
extern const char kCommit[];

} // namespace rdmanet::cmd
