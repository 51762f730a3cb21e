#include "output.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace rdmanet::cmd {

void add_output_options(CLI::App& command, bool& json) {
    command
        .add_option_function<std::string>(
            "-o,--output", [&json](const std::string& format) { json = format == "json"; }, "table or json")
        ->check(CLI::IsMember({"table", "json"}))
        ->default_str("table");
    command.add_flag("--json", json, "the same as -o json");
}

void add_format_options(CLI::App& command, std::string& format, const std::vector<std::string>& formats,
                        const std::string& about) {
    command.add_option("-o,--output", format, about)->check(CLI::IsMember(formats))->capture_default_str();
    command.add_flag_callback(
        "--json", [&format] { format = "json"; }, "the same as -o json");
}

void add_common_options(CLI::App& command, std::string& state_directory, bool& json) {
    command
        .add_option("--state-dir", state_directory,
                    "directory of records and leases; default: RDMANET_STATE_DIR, else /run/rdmanet")
        ->capture_default_str();
    add_output_options(command, json);
}

ops::Colours wanted_colours() {
    const char* const none = std::getenv("NO_COLOR");
    return ::isatty(STDOUT_FILENO) != 0 && (none == nullptr || *none == '\0') ? ops::Colours::yes : ops::Colours::no;
}

void print(const std::string& text) {
    try {
        base::write_all(STDOUT_FILENO, text, "standard output");
    } catch (const base::SystemError& error) {
        if (error.errno_value() == EPIPE) throw NobodyReads{};
        throw;
    }
}

} // namespace rdmanet::cmd
