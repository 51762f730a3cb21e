// Output of the subcommands.
#pragma once

#include <string>

namespace rdmanet::cmd {

/// The reader of the output ended, as `head` does. It has seen enough, so no message is printed.
struct NobodyReads {};

/// Prints to standard output. Throws NobodyReads or SystemError.
void print(const std::string& text);

} // namespace rdmanet::cmd
