// The CNI plugin: environment and standard input in, one JSON document on standard output.
#pragma once

#include <string>

namespace rdmanet::cmd {

/// $RDMANET_STATE_DIR, else the default. Not a key of the network configuration: that may come from a tenant.
[[nodiscard]] std::string state_directory();

/// Does what $CNI_COMMAND says; the exit status. Lets nothing escape.
int run_plugin() noexcept;

} // namespace rdmanet::cmd
