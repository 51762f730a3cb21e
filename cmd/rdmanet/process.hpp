// Preparations of the process before it changes a node, for plugin calls and for commands.
#pragma once

namespace rdmanet::cmd {

/// Call this first:
/// - Memory for a whole call is taken from the kernel at once, and never given back.
/// - A reader that ends, or a limit on file sizes, makes write(2) fail. A signal would kill the process halfway.
/// - Standard descriptors that the caller closed are occupied.
void prepare_process() noexcept;

} // namespace rdmanet::cmd
