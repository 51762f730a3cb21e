// What the process itself needs before it changes a node, whoever starts it: a runtime or a person.
#pragma once

namespace rdmanet::cmd {

/// To be called first:
/// - A reader that goes away, or a limit on file sizes, makes write(2) fail. The signal would kill half way.
/// - Standard descriptors that the caller closed are occupied.
void prepare_process() noexcept;

} // namespace rdmanet::cmd
