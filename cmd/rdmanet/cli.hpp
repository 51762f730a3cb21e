// The command line for the person on the node.
#pragma once

namespace rdmanet::cmd {

/// Runs `rdmanet SUBCOMMAND ...` and returns the exit status.
int run_cli(int argc, char** argv);

} // namespace rdmanet::cmd
