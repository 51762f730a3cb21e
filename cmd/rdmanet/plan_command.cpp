#include "commands.hpp"
#include "network_file.hpp"
#include "output.hpp"

#include <rdmanet/attach/preview.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/netns.hpp>

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rdmanet::cmd {
namespace {

using json::Reader;

constexpr std::size_t kMostVfs = 4;                // in a message
constexpr const char* kContainer = "rdmanet-plan"; // no runtime uses this ID

bool is_of_type(const Reader& object) {
    const auto type = object.find("type");
    return type && type->string() == config::kPluginName;
}

/// Refuses a configuration of another plugin that takes only its addresses from this one.
void refuse_as_ipam(const Reader& configuration) {
    const auto ipam = configuration.find("ipam");
    if (!ipam || !ipam->is_object() || !is_of_type(*ipam)) return;
    throw json::ValueError(
        ipam->path(), fmt::format("rdmanet is only the IPAM plugin of this network, and {} makes its interface: run "
                                  "`rdmanet state` to see the addresses, or set \"type\" to {}",
                                  configuration.at("type").to_text(), base::quoted(config::kPluginName)));
}

/// The configuration itself, or the first rdmanet entry of a list.
Reader find_ours(const Reader& root) {
    const auto plugins = root.find("plugins");
    if (!plugins) {
        const auto type = root.find("type");
        if (!type || is_of_type(root)) return root;
        refuse_as_ipam(root);
        throw json::ValueError(type->path(),
                               fmt::format("expected {}, found {}: `rdmanet plan` explains networks of that type only",
                                           base::quoted(config::kPluginName), type->shown()));
    }
    for (const Reader& plugin : plugins->elements())
        if (is_of_type(plugin)) return plugin;
    for (const Reader& plugin : plugins->elements())
        if (plugin.find("type")) refuse_as_ipam(plugin);
    throw plugins->unexpected(fmt::format("an entry of type {}", base::quoted(config::kPluginName)));
}

std::string json_of(const std::string& text) {
    return json::Writer().value(text).to_text();
}

std::string read_json(const std::string& file) {
    const std::string text = read_input(file);
    return base::in_context(name_of(file), [&] { return json::Document::parse(text).root().to_text(); });
}

/// Members of the plugin's configuration and the values that replace them.
using Injected = std::vector<std::pair<std::string_view, std::string>>;

/// libcni injects the name and version of a list, and Multus injects a device.
Injected injected_into(const Reader& root, const Reader& ours, const PlanOptions& options) {
    Injected injected;
    if (ours.path() != root.path())
        for (const std::string_view key : {"cniVersion", "name"})
            if (const auto of_list = root.find(key)) injected.emplace_back(key, of_list->to_text());
    if (!root.find("name") && !options.network.empty()) injected.emplace_back("name", json_of(options.network));
    if (!options.device.empty())
        for (const std::string_view key : {"deviceID", "pciBusID"}) injected.emplace_back(key, json_of(options.device));
    if (!options.prev_result.empty()) injected.emplace_back("prevResult", read_json(options.prev_result));
    return injected;
}

/// The types of the entries before rdmanet's in a list, such as "host-device", "tuning".
std::string types_before(const Reader& root, const Reader& ours) {
    std::vector<std::string> types;
    const auto plugins = root.find("plugins");
    if (!plugins) return {};
    for (const Reader& plugin : plugins->elements()) {
        if (plugin.path() == ours.path()) break;
        const auto type = plugin.find("type");
        types.push_back(base::quoted(type ? type->string() : std::string()));
    }
    return base::join(types);
}

struct PluginInput {
    std::string configuration;
    std::string before; // the types of the plugins that a runtime calls first
};

/// The configuration as the plugin would get it. A configuration that is not an object stays as it is, so that ADD's
/// own error reports it.
PluginInput as_for_plugin(std::string text, const PlanOptions& options) {
    const json::Document document = json::Document::parse(text);
    const Reader root = document.root();
    if (!root.is_object()) return {.configuration = std::move(text)};
    const Reader ours = find_ours(root);
    const Injected injected = injected_into(root, ours, options);
    if (injected.empty() && ours.path() == root.path()) return {.configuration = std::move(text)};
    const auto is_injected = [&](const std::string& key) {
        return std::ranges::any_of(injected,
                                   [&](const auto& each) { return base::equals_ignoring_case(each.first, key); });
    };
    json::Writer writer;
    writer.begin_object();
    for (const auto& [key, value] : ours.members())
        if (!is_injected(key)) writer.key(key).raw(value.to_text());
    for (const auto& [key, value] : injected) writer.key(key).raw(value);
    return {.configuration = writer.end_object().to_text(), .before = types_before(root, ours)};
}

cni::Request request_of(const PlanOptions& options, const std::string& netns_path, std::string text) {
    const std::pair<std::string_view, const std::string> variables[] = {{"CNI_CONTAINERID", kContainer},
                                                                        {"CNI_NETNS", netns_path},
                                                                        {"CNI_IFNAME", options.ifname},
                                                                        {"CNI_ARGS", options.args},
                                                                        {"CNI_PATH", options.cni_path}};
    const cni::Environment environment = [&](const char* name) -> const char* {
        for (const auto& [key, value] : variables)
            if (key == name) return value.c_str();
        return nullptr;
    };
    const cni::InputNames options_names{.container_id = "the container's ID",
                                        .netns = "--netns",
                                        .ifname = "--ifname",
                                        .args = "--args",
                                        .path = "--cni-path"};
    return cni::parse_request(cni::Command::add, environment, std::move(text), options_names);
}

/// ADD gets the result of the plugins before it in the list.
void require_earlier_results(const cni::Request& request, const config::Config& config, const std::string& before,
                             const base::Logger& log) {
    if (request.conf.prev_result) return;
    if (config.is_rdma_only())
        throw base::Error(fmt::format(
            "\"attach\": \"rdma\" moves the RDMA devices of interface {}, which an earlier plugin of the list puts "
            "into the pod, but `rdmanet plan` calls no other plugin: give that plugin's result with --prev-result "
            "FILE, and with --netns a pod that has the interface (of a VF, a whole NIC or a sub-function)",
            base::quoted(request.ifname().to_string())));
    if (!before.empty())
        log.warn(
            fmt::format("`rdmanet plan` does not call the plugins before rdmanet in this list ({}): give their result "
                        "with --prev-result FILE if the network depends on it",
                        before));
}

std::string to_text(const attach::Preview& preview) {
    const state::AttachmentRecord& record = preview.record;
    const std::string device = record.device();
    const std::string kind = device.empty() ? record.attach : fmt::format("{}, device {}", record.attach, device);
    std::string text = fmt::format("ADD of network {} for interface {} ({}) would\n", base::quoted(record.key.network),
                                   base::quoted(record.key.ifname), kind);
    for (const std::string& dead : preview.taken_back)
        text += fmt::format("  reclaim what a dead pod left behind ({}), or fail if that is impossible; the lines "
                            "below show the device as that pod left it\n",
                            dead);
    for (const std::string& action : preview.actions) text += fmt::format("  {}\n", action);
    return text;
}

/// Address counts are texts, because an IPv6 range has more addresses than JSON readers can count.
void write_range(json::Writer& writer, const attach::RangeUsage& each) {
    writer.begin_object()
        .member("range", each.range.to_string())
        .member("usable", ipam::to_text(each.range.usable_count()))
        .member("free", ipam::to_text(each.free_count()))
        .member("leases", each.usage.leases)
        .member("resting", each.usage.cooling)
        .end_object();
}

std::string to_json(const attach::Preview& preview, const json::UselessKeys& useless,
                    const std::vector<std::string>& warnings) {
    const state::AttachmentRecord& record = preview.record;
    json::Writer writer(json::Layout::indented);
    writer.begin_object()
        .member("network", record.key.network)
        .member("ifname", record.key.ifname)
        .member("attach", record.attach)
        .member("device", record.device())
        .member("rdmaDevice", record.rdma_device);
    writer.member("takenBack", preview.taken_back);
    writer.member("actions", preview.actions);
    writer.key("ranges").begin_array();
    for (const attach::RangeUsage& each : preview.ranges) write_range(writer, each);
    writer.end_array().key("steps").begin_array();
    for (const state::Step& step : record.steps) writer.raw(state::to_text(step));
    writer.end_array();
    writer.member("unknownKeys", useless.unknown);
    writer.member("idleKeys", useless.idle);
    writer.member("warnings", warnings);
    return fmt::format("{}\n", writer.end_object().to_text());
}

/// The configuration of the file's network, as the plugin would get it.
PluginInput read_configuration(PlanOptions& options) {
    std::string text = read_network_input(options.file);
    return base::in_context(name_of(options.file), [&] {
        NetworkText network = choose_network(std::move(text), options.network);
        if (network.definition.empty()) return as_for_plugin(std::move(network.configuration), options);
        options.network = network.definition; // Multus gives this name to a network without a name of its own
        return base::in_context(fmt::format("NetworkAttachmentDefinition {}", base::quoted(network.definition)),
                                [&] { return as_for_plugin(std::move(network.configuration), options); });
    });
}

/// The first few, for a message.
std::string list_of(const std::vector<base::PciAddress>& vfs) {
    if (vfs.empty()) return "no VFs";
    if (vfs.size() <= kMostVfs) return fmt::format("the VFs {}", base::join(vfs));
    return fmt::format("the VFs {} and {} more", base::join(std::span(vfs).first(kMostVfs)), vfs.size() - kMostVfs);
}

/// Refuses a network without the device that a device plugin would choose for each pod, and Multus would pass on.
void require_device(const config::Config& config) {
    if (config.device) return;
    if (std::holds_alternative<config::Sriov>(config.attach)) {
        const std::vector<base::PciAddress> vfs = kernel::list_vfs();
        throw cni::CniError(
            cni::ErrorCode::invalid_network_config,
            fmt::format(
                "no VF is named, because a device plugin chooses one for each pod: name one with `--device {}`; "
                "this node has {}",
                vfs.empty() ? "0000:3b:00.2" : vfs.front().to_string(), list_of(vfs)));
    }
    const auto* whole = std::get_if<config::HostDevice>(&config.attach);
    if (whole != nullptr && !whole->name && !whole->hwaddr)
        throw cni::CniError(
            cni::ErrorCode::invalid_network_config,
            "no device is named, because a device plugin chooses one for each pod: name one with `--device "
            "0000:3b:00.2` or `--device mlx5_core.sf.4`, or set \"device\", \"hwaddr\" or "
            "\"kernelpath\"");
}

struct Planned {
    attach::Preview preview;
    json::UselessKeys useless;
};

/// Throws what ADD would throw before its first change, and base::Error for a file without an rdmanet network.
Planned preview(PlanOptions options, std::vector<std::string>& warnings) {
    PluginInput input = read_configuration(options);
    std::optional<kernel::Netns> nobodys;
    if (options.netns.empty()) nobodys = kernel::make_netns();
    const std::string netns_path = nobodys ? fmt::format("/proc/self/fd/{}", nobodys->fd()) : options.netns;
    const cni::Request request = request_of(options, netns_path, std::move(input.configuration));
    attach::Node node(options.state_directory, base::Logger::to_list(warnings, base::LogLevel::warning));
    node.strict = node_is_strict();
    for (const std::string& warning : request.conf.warnings) node.log.warn(warning);
    config::Config config = read_config(request, node);
    require_earlier_results(request, config, input.before, node.log);
    require_device(config);
    attach::Preview preview = attach::preview_add(request, config, node);
    return {.preview = std::move(preview), .useless = std::move(config.useless_keys)};
}

struct Refusal {
    int code = 0;
    std::string message;
    std::string details;
};

std::string to_json(const Refusal& refusal, const std::vector<std::string>& warnings) {
    json::Writer writer(json::Layout::indented);
    writer.begin_object()
        .member("code", refusal.code)
        .member("msg", refusal.message)
        .member("details", refusal.details);
    writer.member("warnings", warnings);
    return fmt::format("{}\n", writer.end_object().to_text());
}

void say(const std::string& line) {
    base::write_all(STDERR_FILENO, fmt::format("{}\n", line), "standard error");
}

/// "2 unknown keys: mastr, rdma.mde".
std::string list_keys(const std::vector<std::string>& sentences, std::string_view one, std::string_view several) {
    const auto key_of = [](const std::string& sentence) { return sentence.substr(0, sentence.find(": ")); };
    return fmt::format("{}: {}", base::counted(sentences.size(), one, several), base::join(sentences, ", ", key_of));
}

std::string to_text(const json::UselessKeys& useless) {
    std::vector<std::string> lists;
    if (!useless.unknown.empty()) lists.push_back(list_keys(useless.unknown, "unknown key", "unknown keys"));
    if (!useless.idle.empty())
        lists.push_back(list_keys(useless.idle, "key that does nothing here", "keys that do nothing here"));
    return base::join(lists, "; ");
}

} // namespace

int plan(const PlanOptions& options) {
    std::vector<std::string> warnings;
    std::variant<Refusal, Planned> outcome;
    try {
        outcome = preview(options, warnings);
    } catch (const std::exception& error) {
        const auto* cni_error = dynamic_cast<const cni::CniError*>(&error);
        outcome = Refusal{.code = code_of(error),
                          .message = error.what(),
                          .details = cni_error != nullptr ? cni_error->details() : std::string()};
    }
    for (const std::string& warning : warnings) say(fmt::format("warning: {}", warning));
    if (const auto* refusal = std::get_if<Refusal>(&outcome)) {
        if (options.json) print(to_json(*refusal, warnings));
        say(fmt::format("rdmanet: {}", refusal->message));
        return 1;
    }
    const auto& [preview, useless] = std::get<Planned>(outcome);
    print(options.json ? to_json(preview, useless, warnings) : to_text(preview));
    if (useless.empty()) return 0;
    say(fmt::format("rdmanet: {}", to_text(useless)));
    return 1;
}

} // namespace rdmanet::cmd
