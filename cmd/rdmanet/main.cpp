// With CNI_COMMAND set this is a CNI plugin, otherwise a command for a person.
#include "cli.hpp"
#include "plugin.hpp"
#include "process.hpp"
#include "stack.hpp"
#include "version.hpp"

#include <rdmanet/cni/version_output.hpp>

#include <unistd.h>

#include <cstdlib>

namespace {

int run(int argc, char** argv) {
    const char* command = std::getenv("CNI_COMMAND");
    if (command != nullptr && *command != '\0') return rdmanet::cmd::run_plugin();
    if (argc > 1) return rdmanet::cmd::run_cli(argc, argv);
    // The output of a plugin without a command (cni, pkg/skel). It goes to standard error, because a person may read
    // it.
    const std::string about = rdmanet::cni::about_text("rdmanet", rdmanet::cmd::kVersion);
    return ::write(STDERR_FILENO, about.data(), about.size()) < 0 ? 1 : 0;
}

} // namespace

int main(int argc, char** argv) {
    rdmanet::cmd::prepare_process();
    return rdmanet::cmd::run_with_enough_stack(run, argc, argv);
}
