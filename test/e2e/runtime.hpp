// Executing network configurations as libcni does for runtimes and for Multus: each plugin of a list in order, with the
// list's name and version, the capabilities it declares, and the result of the one before.
#pragma once

#include "support/node.hpp"
#include "support/plugin_call.hpp"

#include <rdmanet/json/reader.hpp>

#include <map>
#include <string>
#include <vector>

namespace rdmanet::test {

/// Where Debian's package has them.
inline const std::string kDebianPlugins = "/usr/lib/cni";

/// What of a call is not in the configuration.
struct Attachment {
    std::string netns;
    std::string container = "c1";
    std::string ifname = "net1";
    std::string args{};                                // CNI_ARGS
    std::map<std::string, std::string> capabilities{}; // key of runtimeConfig, JSON
    std::string device{};                              // that Multus writes into every plugin's configuration
};

/// The binary under its installed name in a directory for CNI_PATH, Debian's plugins behind it.
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
    /// The result of the last plugin. Throws if one refuses, after DEL of the whole list.
    [[nodiscard]] std::string add(const Attachment& attachment) const;
    /// Empty if every plugin agrees, or the version has no CHECK; else "PLUGIN: failure".
    [[nodiscard]] std::string check(const Attachment& attachment, const std::string& result) const;
    /// In reverse order; empty if every plugin succeeds.
    [[nodiscard]] std::string del(const Attachment& attachment, const std::string& result) const;
    /// Empty if every plugin could serve an ADD now, or the version has no STATUS.
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
