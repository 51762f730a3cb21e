#include "plan_stage.hpp"

#include "support/concat.hpp"

#include <rdmanet/base/error.hpp>

#include <cstdlib>

namespace rdmanet::test {

ProcessResult plan(const std::string& config, const Options& options) {
    std::vector<std::string> arguments{binary(), "plan"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    ProcessOptions process{.input = config};
    if (const char* directory = std::getenv("RDMANET_STATE_DIR"))
        process.environment = {concat("RDMANET_STATE_DIR=", directory)};
    return run_process(arguments, process);
}

ProcessResult plan(const PluginCall& call, const Options& more) {
    Options options{"--netns", call.netns, "--ifname", call.ifname, "--args", call.args, "--cni-path", call.path};
    options.insert(options.end(), more.begin(), more.end());
    return plan(call.config, options);
}

std::string plan_text(const ProcessResult& result) {
    if (result.exit_status != 0) throw base::Error(concat("the plan is refused: ", result.err));
    return result.out;
}

std::string last_line(const std::string& text) {
    const std::string line = text.substr(0, text.rfind('\n'));
    return line.substr(line.rfind('\n') + 1);
}

std::string plan_refusal(const ProcessResult& result) {
    const std::string line = last_line(result.err);
    if (result.exit_status != 1 || !result.out.empty() || !line.starts_with("rdmanet: "))
        throw base::Error(concat("no refusal: ", result.out, result.err));
    return line.substr(line.find(' ') + 1);
}

std::string look_at_state() {
    return shell(
        "cd ${RDMANET_STATE_DIR:-/run/rdmanet} && find . -exec stat -c '%n %i %s %z' {} + | sort || echo none");
}

} // namespace rdmanet::test
