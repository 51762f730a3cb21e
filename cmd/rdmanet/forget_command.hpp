// `rdmanet gc --forget`
#pragma once

#include <string>
#include <vector>

namespace rdmanet::cmd {

struct ForgetOptions {
    std::vector<std::string> target; // container and interface, or a record's file
    std::string state_directory;
    bool dry_run = false;
    bool json = false;
};

/// Prints what is given up, then gives it up. Returns the exit status.
int forget(const ForgetOptions& options);

} // namespace rdmanet::cmd
