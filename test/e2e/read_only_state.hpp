// The state directory as on a read-only file system.
#pragma once

#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/process.hpp"

#include <string>

namespace rdmanet::test {

inline const std::string kState = "/run/rdmanet";

/// The directory is read-only until the end of the scope.
class ReadOnlyState {
public:
    ReadOnlyState() { shell(concat("mount --bind ", kState, ' ', kState, " && mount -o remount,bind,ro ", kState)); }
    ReadOnlyState(const ReadOnlyState&) = delete;
    ReadOnlyState& operator=(const ReadOnlyState&) = delete;
    ~ReadOnlyState() { (void)succeeds(concat("umount ", kState)); }
};

} // namespace rdmanet::test
