// An IPAM plugin whose behaviour each test scripts.
#pragma once

#include "attachment_stage.hpp"

#include "support/concat.hpp"

#include <rdmanet/base/file.hpp>

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace rdmanet::test {

/// A directory for CNI_PATH with a plugin "fake". The plugin notes its command and then runs a script.
class FakePlugin {
public:
    FakePlugin() { std::filesystem::create_directories(directory()); }
    FakePlugin(const FakePlugin&) = delete;
    FakePlugin& operator=(const FakePlugin&) = delete;
    ~FakePlugin() {
        std::error_code ignored;
        std::filesystem::remove_all(directory(), ignored);
    }
    [[nodiscard]] static std::string directory() { return "/tmp/rdmanet-fake-plugin"; }
    [[nodiscard]] static std::string file(const std::string& name) { return concat(directory(), '/', name); }

    /// The script can use "$CNI_COMMAND", and writes to "$dir".
    void install(const std::string& script) const {
        const std::string text =
            concat("#!/bin/bash\ndir=", directory(), "\necho $CNI_COMMAND >> $dir/calls\n", script, '\n');
        base::write_file_durably(file("fake"), text);
        (void)::chmod(file("fake").c_str(), 0755);
        forget();
    }
    void uninstall() const { std::filesystem::remove(file("fake")); }
    void forget() const { std::filesystem::remove(file("calls")); }
    /// Like "ADD DEL ".
    [[nodiscard]] static std::string calls() {
        std::string text = base::read_file_if_exists(file("calls"), 4096).value_or("");
        for (char& c : text)
            if (c == '\n') c = ' ';
        return text;
    }
};

/// A script that answers ADD with an address, a route and DNS.
inline const char* const kGoodAdd = R"([ $CNI_COMMAND != ADD ] || echo '{"cniVersion":"1.0.0",)"
                                    R"("ips":[{"address":"10.62.0.5/24","gateway":"10.62.0.1"}],)"
                                    R"("routes":[{"dst":"10.63.0.0/16"}],"dns":{"nameservers":["10.62.0.53"]}}')";

/// A call whose addresses come from that plugin.
inline PluginCall fake_call(const Pod& pod, const std::string& version = "1.1.0") {
    PluginCall call = call_for(pod, "'master':'par0','ipam':{'type':'fake'}", version);
    call.path = FakePlugin::directory();
    return call;
}

} // namespace rdmanet::test
