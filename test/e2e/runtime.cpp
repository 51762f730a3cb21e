#include "runtime.hpp"

#include "attachment_stage.hpp"

#include "support/concat.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/json/writer.hpp>

#include <algorithm>
#include <filesystem>

namespace rdmanet::test {

namespace fs = std::filesystem;
using json::Reader;

namespace {

const std::string kInstalled = "/tmp/rdmanet-installed";

std::string text_or(const Reader& object, const char* key, const std::string& otherwise) {
    const auto member = object.find(key);
    return member ? member->string() : otherwise;
}

std::string program_of(const std::string& type) {
    return type == "rdmanet" ? binary() : concat(kDebianPlugins, '/', type);
}

bool is_injected(const std::string& key) {
    return key == "cniVersion" || key == "name" || key == "prevResult" || key == "runtimeConfig";
}

void write_capabilities(json::Writer& writer, const Reader& plugin, const Attachment& attachment) {
    const auto declared = plugin.find("capabilities");
    if (!declared) return;
    writer.key("runtimeConfig").begin_object();
    for (const auto& [key, value] : attachment.capabilities)
        if (const auto wanted = declared->find(key); wanted && wanted->boolean()) writer.key(key).raw(value);
    writer.end_object();
}

} // namespace

Installed::Installed() {
    fs::create_directories(kInstalled);
    shell(concat("ln -sf ", binary(), ' ', kInstalled, "/rdmanet"));
}

Installed::~Installed() {
    std::error_code ignored;
    fs::remove_all(kInstalled, ignored);
}

std::string Installed::path() {
    return concat(kInstalled, ':', kDebianPlugins);
}

Network::Network(const std::string& json, const std::string& name_if_absent) : document_(json::Document::parse(json)) {
    const Reader root = document_.root();
    name_ = text_or(root, "name", name_if_absent);
    version_ = root.at("cniVersion").string();
    if (const auto list = root.find("plugins"))
        plugins_ = list->elements();
    else
        plugins_ = {root};
}

PluginCall Network::call(const Reader& plugin, const Attachment& attachment, const std::string& prev_result) const {
    json::Writer config;
    config.begin_object().member("cniVersion", version_).member("name", name_);
    for (const auto& [key, value] : plugin.members())
        if (!is_injected(key)) config.key(key).raw(value.to_text());
    if (!attachment.device.empty()) config.member("deviceID", attachment.device).member("pciBusID", attachment.device);
    write_capabilities(config, plugin, attachment);
    if (!prev_result.empty()) config.key("prevResult").raw(prev_result);
    PluginCall call;
    call.container = attachment.container;
    call.netns = attachment.netns;
    call.ifname = attachment.ifname;
    call.args = attachment.args;
    call.path = Installed::path();
    call.config = config.end_object().to_text();
    call.program = program_of(plugin.at("type").string());
    return call;
}

std::string Network::outcome_of(const Reader& plugin, const Attachment& attachment, const std::string& command,
                                const std::string& prev_result) const {
    const std::string text = outcome(call(plugin, attachment, prev_result), command);
    return text.empty() ? "" : concat(plugin.at("type").string(), ' ', command, ": ", text, '\n');
}

std::string Network::add(const Attachment& attachment) const {
    std::string result;
    for (const Reader& plugin : plugins_) {
        const ProcessResult run = call(plugin, attachment, result).run();
        if (run.exit_status != 0) {
            const base::Error error(concat(plugin.at("type").string(), " ADD: ", run.out, run.err));
            undo(attachment, result);
            throw error;
        }
        result = document_of(run).root().to_text();
    }
    return result;
}

void Network::undo(const Attachment& attachment, const std::string& result) const {
    try {
        (void)del(attachment, result);
    } catch (const base::Error&) { // the error of ADD matters more
    }
}

std::string Network::check(const Attachment& attachment, const std::string& result) const {
    std::string failures;
    if (version_ < "0.4.0") return failures;
    for (const Reader& plugin : plugins_) failures += outcome_of(plugin, attachment, "CHECK", result);
    return failures;
}

std::string Network::del(const Attachment& attachment, const std::string& result) const {
    std::string failures;
    for (auto plugin = plugins_.rbegin(); plugin != plugins_.rend(); ++plugin)
        failures += outcome_of(*plugin, attachment, "DEL", version_ < "0.4.0" ? "" : result);
    return failures;
}

std::string Network::status() const {
    std::string failures;
    if (version_ < "1.1.0") return failures;
    for (const Reader& plugin : plugins_) failures += outcome_of(plugin, {.container = "", .ifname = ""}, "STATUS", "");
    return failures;
}

bool Network::is_runnable() const {
    const auto is_ours = [](const Reader& plugin) {
        const auto ipam = plugin.find("ipam");
        return plugin.at("type").string() == "rdmanet" && (!ipam || ipam->at("type").string() == "rdmanet");
    };
    return fs::exists(kDebianPlugins) || std::all_of(plugins_.begin(), plugins_.end(), is_ours);
}

} // namespace rdmanet::test
