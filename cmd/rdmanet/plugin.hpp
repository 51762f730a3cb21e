// The CNI plugin: environment and standard input in, one JSON document on standard output.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>

#include <exception>
#include <string>

namespace rdmanet::cmd {

/// $RDMANET_STATE_DIR, else the default. Not a key of the network configuration: that may come from a tenant.
[[nodiscard]] std::string state_directory();

/// $RDMANET_STRICT: whether the node refuses unknown keys.
[[nodiscard]] bool node_is_strict();

/// What the request configures, as ADD, CHECK and STATUS read it. Warnings go to the log. CHECK is not strict: the
/// pod has what it has.
[[nodiscard]] config::Config read_config(const cni::Request& request, const attach::Node& node);

/// The code that the error's type stands for.
[[nodiscard]] int code_of(const std::exception& error);

/// Does what $CNI_COMMAND says; the exit status. Lets nothing escape.
int run_plugin() noexcept;

} // namespace rdmanet::cmd
