#include "command_line.hpp"

#include "output.hpp"

#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <unistd.h>

#include <sstream>

namespace rdmanet::cmd {
namespace {

constexpr int kWrongUsage = 2; // as for a shell's builtins

/// Prints the help, the version, or what is wrong with the command line. The library would print to std::cout, which
/// loses write errors.
int print_exit(const CLI::App& app, const CLI::ParseError& exit, int wrong_usage) {
    std::ostringstream out;
    std::ostringstream err;
    const bool is_answer = app.exit(exit, out, err) == 0;
    print(out.str());
    base::write_all(STDERR_FILENO, err.str(), "standard error");
    return is_answer ? 0 : wrong_usage;
}

std::vector<CLI::App*> subcommands_of(CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
}

CLI::App* find_subcommand(CLI::App& app, const std::string& name) {
    for (CLI::App* each : subcommands_of(app))
        if (each->get_name() == name) return each;
    return nullptr;
}

int refuse_subcommand(CLI::App& app, const std::string& name) {
    std::vector<std::string> known;
    for (const CLI::App* each : subcommands_of(app)) known.push_back(each->get_name());
    return refuse_usage(fmt::format("unknown subcommand {}, expected {}", base::quoted(name),
                                    known.empty() ? fmt::format("none after {}", base::quoted(app.get_name()))
                                                  : fmt::format("one of {}", base::join(known))),
                        "rdmanet --help");
}

/// In the order of the command line. The library's own message lists them backwards.
std::string extras_of(const CLI::App& command) {
    std::vector<std::string> extras;
    for (const std::string& each : command.remaining()) extras.push_back(base::quoted(each));
    return base::join(extras, " ");
}

/// For these, 2 says what they found.
int status_of_wrong_usage(CLI::App& app) {
    const bool is_diagnosis = find_subcommand(app, "doctor")->parsed() || find_subcommand(app, "verify")->parsed();
    return is_diagnosis ? kDiagnosisFailed : kWrongUsage;
}

} // namespace

int refuse_usage(const std::string& message, const std::string& help) {
    base::write_all(STDERR_FILENO, fmt::format("rdmanet: {}: run `{}`\n", message, help), "standard error");
    return kWrongUsage;
}

int refuse_extras(const CLI::App& command, const std::string& name) {
    const std::string extras = extras_of(command);
    return extras.empty()
               ? 0
               : refuse_usage(fmt::format("unexpected arguments {}", extras), fmt::format("rdmanet {}", name));
}

int print_help(CLI::App& app, const std::vector<std::string>& topic) {
    CLI::App* about = &app;
    std::string path;
    for (const std::string& name : topic) {
        CLI::App* const next = find_subcommand(*about, name);
        if (next == nullptr) return refuse_subcommand(*about, name);
        path += fmt::format("{}{}", path.empty() ? "" : " ", about->get_name());
        about = next;
    }
    // app.help() would be the help of the subcommand "help".
    print(about != &app ? about->help(path)
                        : app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal));
    return 0;
}

std::optional<int> parse(CLI::App& app, int argc, char** argv) {
    for (CLI::App* each : subcommands_of(app)) each->allow_extras();
    if (argc > 1 && argv[1][0] != '-' && find_subcommand(app, argv[1]) == nullptr)
        return refuse_subcommand(app, argv[1]);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& exit) {
        return print_exit(app, exit, status_of_wrong_usage(app));
    }
    for (const CLI::App* command : app.get_subcommands())
        if (refuse_extras(*command, fmt::format("help {}", command->get_name())) != 0)
            return status_of_wrong_usage(app);
    return std::nullopt;
}

} // namespace rdmanet::cmd
