// What subcommands print.
#pragma once

#include <string>

namespace rdmanet::cmd {

/// The reader of the output went away, as `head` does: it has seen enough, and wants no message.
struct NobodyReads {};

/// To standard output. Throws NobodyReads, or SystemError.
void print(const std::string& text);

} // namespace rdmanet::cmd
