#include "output.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>

#include <unistd.h>

#include <cerrno>

namespace rdmanet::cmd {

void print(const std::string& text) {
    try {
        base::write_all(STDOUT_FILENO, text, "standard output");
    } catch (const base::SystemError& error) {
        if (error.errno_value() == EPIPE) throw NobodyReads{};
        throw;
    }
}

} // namespace rdmanet::cmd
