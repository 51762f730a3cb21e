// The CNI plugin: reads environment and standard input, and prints one JSON document to standard output.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>

#include <exception>
#include <string>

namespace rdmanet::cmd {

/// $RDMANET_STATE_DIR, else the default. There is no key for it, because the network configuration may come from a
/// tenant.
[[nodiscard]] std::string state_directory();

/// $RDMANET_STRICT: whether the node refuses unknown keys.
[[nodiscard]] bool node_is_strict();

/// The request's configuration, as ADD, CHECK and STATUS read it. Warnings go to the log. CHECK is not strict,
/// because the pod exists already.
[[nodiscard]] config::Config read_config(const cni::Request& request, const attach::Node& node);

/// The error code for the type of the error.
[[nodiscard]] int code_of(const std::exception& error);

/// Executes $CNI_COMMAND and returns the exit status. Throws nothing.
int run_plugin() noexcept;

} // namespace rdmanet::cmd
