// Calls the built binary as a container runtime does.
#pragma once

#include "support/process.hpp"

#include <rdmanet/json/reader.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace rdmanet::test {

/// The binary under test: RDMANET_BINARY, or the one built beside the tests.
[[nodiscard]] std::string binary();

struct PluginCall {
    std::string command = "ADD";
    std::string container = "c1";
    std::string netns;
    std::string ifname = "net1";
    std::string args;
    std::string path = "/usr/lib/cni";
    std::string config;
    std::vector<std::string> more_environment;
    std::chrono::seconds timeout{300}; // the process is killed then
    std::string program = binary();
    std::size_t stack_limit = 0; // bytes; 0: inherited

    [[nodiscard]] PluginCall with_command(std::string other) const {
        PluginCall call = *this;
        call.command = std::move(other);
        return call;
    }
    [[nodiscard]] ProcessOptions options() const;
    /// Checks every DEL with refuse_words_of_success().
    [[nodiscard]] ProcessResult run() const;
};

/// Throws if a DEL failed with words that go-cni takes for success.
void refuse_words_of_success(const ProcessResult& del);

/// The only JSON document on standard output. Throws if there is none, or more than one.
[[nodiscard]] json::Document document_of(const ProcessResult& result);
/// The error document as "code N: message". Throws if there is none.
[[nodiscard]] std::string error_of(const ProcessResult& result);
/// Warnings and errors in the log, without the time.
[[nodiscard]] std::string complaints(const std::string& log);

} // namespace rdmanet::test
