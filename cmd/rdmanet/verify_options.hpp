// The command line of `rdmanet verify`.
#pragma once

#include "plugin.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::cmd {

struct VerifyOptions {
    std::vector<std::string> pods;
    bool server = false;
    std::string peer;
    std::string token;
    std::vector<std::string> interfaces; // of both pods, or one for each
    std::string listen;                  // empty: all addresses
    std::uint16_t port = 0;
    unsigned seconds = 30;
    std::optional<unsigned> wait; // seconds; 300 if it is not given
    unsigned expected = 80;       // percent
    std::string state_directory = cmd::state_directory();
    bool json = false;
};

[[nodiscard]] CLI::App* add_verify_command(CLI::App& app, VerifyOptions& options);

/// Which of the four forms of the command it is must be clear, and the user must be root. Throws base::Error.
void check_usage(const VerifyOptions& options);

} // namespace rdmanet::cmd
