// Runs network configurations as libcni does for runtimes and for Multus. It calls each plugin of a list in order.
// Each gets the list's name and version, its declared capabilities and the previous result.
#pragma once

#include "support/node.hpp"
#include "support/plugin_call.hpp"

#include <rdmanet/json/reader.hpp>

#include <map>
#include <string>
#include <vector>

namespace rdmanet::test {

/// Where Debian's package installs them.
inline const std::string kDebianPlugins = "/usr/lib/cni";

/// The parts of a call that the configuration does not have.
struct Attachment {
    std::string netns;
    std::string container = "c1";
    std::string ifname = "net1";
    std::string args{};                                // CNI_ARGS
    std::map<std::string, std::string> capabilities{}; // key of runtimeConfig, JSON
    std::string device{};                              // Multus writes it into every plugin's configuration
};

/// A directory for CNI_PATH with the binary under its installed name. Debian's plugins follow in the path.
class Installed {
public:
    Installed();
    Installed(const Installed&) = delete;
    Installed& operator=(const Installed&) = delete;
    ~Installed();

    [[nodiscard]] static std::string path();
};

/// A configuration list, or a single configuration, which is a list of one.
class Network {
public:
    explicit Network(const std::string& json, const std::string& name_if_absent = "");

    [[nodiscard]] const std::string& name() const { return name_; }
    /// The result of the last plugin. If one refuses, calls DEL for the whole list and throws.
    [[nodiscard]] std::string add(const Attachment& attachment) const;
    /// Empty if every plugin agrees or the version has no CHECK, otherwise "PLUGIN: failure".
    [[nodiscard]] std::string check(const Attachment& attachment, const std::string& result) const;
    /// Calls the plugins in reverse order. Empty if all succeed.
    [[nodiscard]] std::string del(const Attachment& attachment, const std::string& result) const;
    /// Empty if every plugin could serve an ADD now, or if the version has no STATUS.
    [[nodiscard]] std::string status() const;
    /// False if it names other plugins and Debian's package of them is not installed.
    [[nodiscard]] bool is_runnable() const;

private:
    [[nodiscard]] PluginCall call(const json::Reader& plugin, const Attachment& attachment,
                                  const std::string& prev_result) const;
    [[nodiscard]] std::string outcome_of(const json::Reader& plugin, const Attachment& attachment,
                                         const std::string& command, const std::string& prev_result) const;

    void undo(const Attachment& attachment, const std::string& result) const;

    json::Document document_;
    std::vector<json::Reader> plugins_;
    std::string name_;
    std::string version_;
};

} // namespace rdmanet::test
