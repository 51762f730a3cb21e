// Plugins that are shell scripts.
#pragma once

#include "support/directory.hpp"

#include <rdmanet/cni/delegate.hpp>

#include <chrono>
#include <string>

namespace rdmanet::cni {

/// Longer than any plugin here takes on a busy machine.
constexpr std::chrono::minutes kPatience{5};

/// A directory for plugins, which is deleted with the test.
class PluginFixture : public test::Directory {
public:
    /// Writes `commands` as the executable shell script "ipam".
    void install(const std::string& commands) const { install_as("ipam", "#!/bin/sh\n" + commands + "\n", 0755); }
    void install_as(const std::string& name, const std::string& content, unsigned mode) const;

    /// A call of the plugin "ipam".
    [[nodiscard]] DelegateCall call() const;

    /// "CODE MESSAGE" or "timeout MESSAGE" of a failed ADD, otherwise "succeeded".
    [[nodiscard]] std::string add_failure(std::chrono::milliseconds patience = kPatience) const;
    [[nodiscard]] static std::string failure_of(const DelegateCall& call,
                                                std::chrono::milliseconds patience = kPatience);
};

} // namespace rdmanet::cni
