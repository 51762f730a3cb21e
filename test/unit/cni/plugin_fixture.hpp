// Plugins made of shell scripts.
#pragma once

#include <rdmanet/cni/delegate.hpp>

#include <chrono>
#include <string>

namespace rdmanet::cni {

/// Longer than any plugin here takes on a machine that is busy with other things.
constexpr std::chrono::minutes kPatience{5};

/// A directory for plugins, which goes with the test.
class PluginFixture {
public:
    PluginFixture();
    PluginFixture(const PluginFixture&) = delete;
    PluginFixture& operator=(const PluginFixture&) = delete;
    ~PluginFixture();

    /// Writes `commands` as the executable shell script "ipam".
    void install(const std::string& commands) const { install_as("ipam", "#!/bin/sh\n" + commands + "\n", 0755); }
    void install_as(const std::string& name, const std::string& content, unsigned mode) const;

    [[nodiscard]] std::string file(const std::string& name) const { return directory_ + "/" + name; }
    [[nodiscard]] const std::string& directory() const { return directory_; }
    /// Of the plugin "ipam".
    [[nodiscard]] DelegateCall call() const;

    /// "CODE MESSAGE" of an ADD that is refused, "timeout MESSAGE", or "succeeded".
    [[nodiscard]] std::string add_failure(std::chrono::milliseconds patience = kPatience) const;
    [[nodiscard]] static std::string failure_of(const DelegateCall& call,
                                                std::chrono::milliseconds patience = kPatience);

private:
    std::string directory_;
};

} // namespace rdmanet::cni
