// What the node's files say of the cluster: resources of the kubelet, Multus, and tokens for the API server.
#include "checks.hpp"
#include "files.hpp"

#include <rdmanet/base/base64.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/reader.hpp>

#include <algorithm>
#include <ctime>

namespace rdmanet::doctor {
namespace {

/// The device manager of the kubelet writes it when a device plugin registers and when a pod gets a device
/// (pkg/kubelet/cm/devicemanager/checkpoint).
constexpr std::string_view kCheckpoint = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";
constexpr std::string_view kConfigurations = "/etc/cni/net.d";

json::Document read_checkpoint(const Context& context) {
    constexpr std::size_t kMost = 64U << 20U;
    const auto text = base::read_named_file_if_exists(context.path(kCheckpoint), kMost);
    if (!text) throw base::Error(fmt::format("the kubelet has no file {}", kCheckpoint));
    return json::Document::parse(*text);
}

void check_resources(const Context& context, Findings& found) {
    const json::Document checkpoint = read_checkpoint(context);
    const auto registered = checkpoint.root().at("Data").find("RegisteredDevices");
    const auto resources = registered ? registered->members() : std::vector<std::pair<std::string, json::Reader>>{};
    if (resources.empty())
        found.warning("", "no device plugin has registered a resource with the kubelet of this node",
                      "check that the pod of the device plugin runs here: its node selector, tolerations and log");
}

struct Allocation {
    std::string pod_uid;
    std::string device;
};

std::vector<Allocation> list_allocations(const json::Reader& data) {
    std::vector<Allocation> all;
    const auto entries = data.find("PodDeviceEntries");
    if (!entries) return all;
    for (const json::Reader& entry : entries->elements()) {
        const std::string pod_uid = entry.at("PodUID").string();
        const json::Reader devices = entry.at("DeviceIDs");
        std::vector<json::Reader> lists{devices}; // before Kubernetes 1.20 a list, since then a list for each NUMA node
        if (devices.is_object()) {
            lists.clear();
            for (const auto& [node, list] : devices.members()) lists.push_back(list);
        }
        for (const json::Reader& list : lists)
            for (const json::Reader& device : list.elements()) all.push_back({pod_uid, device.string()});
    }
    return all;
}

/// The pod that has a device in its network namespace, if the pod's UID is known.
const inventory::Namespace* owner_of(const Context& context, const inventory::Device& device) {
    if (device.net.empty() || device.net.front().place == 0) return nullptr;
    const inventory::Namespace& owner = context.inventory.namespaces[device.net.front().place];
    return owner.pod.uid.empty() && owner.pod_uid.empty() ? nullptr : &owner;
}

/// The kubelet keeps entries of pods that have ended, so only a device without an entry of its pod is wrong.
void check_allocations(const Context& context, Findings& found) {
    const json::Document checkpoint = read_checkpoint(context);
    const std::vector<Allocation> all = list_allocations(checkpoint.root().at("Data"));
    for (const inventory::Device& device : context.inventory.devices) {
        const inventory::Namespace* owner = owner_of(context, device);
        if (owner == nullptr) continue;
        std::string others;
        bool is_owners = false;
        for (const Allocation& each : all) {
            if (each.device != device.address->to_string()) continue;
            is_owners = is_owners || each.pod_uid == owner->pod.uid || each.pod_uid == owner->pod_uid;
            others = each.pod_uid;
        }
        if (!others.empty() && !is_owners)
            found.failure(subject_of(device),
                          fmt::format("{} has it, but the kubelet gave it to the pod with UID {}", *owner, others),
                          "let the device plugin choose the device: a network with \"deviceID\" must be for one pod, "
                          "and its device must not be in the plugin's resource");
    }
}

/// The type of the first plugin, or nothing if this is no configuration.
std::string first_plugin_of(const std::string& file) try {
    const json::Document document = json::Document::parse(content_of(file));
    const auto plugins = document.root().find("plugins");
    const auto list = plugins ? plugins->elements() : std::vector<json::Reader>{document.root()};
    const auto type = list.empty() ? std::nullopt : list.front().find("type");
    return type ? type->string() : std::string();
} catch (const base::Error&) {
    return {};
}

/// Runtimes take the first configuration by name (containerd's and CRI-O's ocicni).
void check_multus(const Context& context, Findings& found) {
    std::string first;
    for (const std::string& name : names_in(context.path(kConfigurations))) {
        if (!name.ends_with(".conf") && !name.ends_with(".conflist") && !name.ends_with(".json")) continue;
        if (first.empty()) first = name;
        const std::string type = first_plugin_of(context.path(fmt::format("{}/{}", kConfigurations, name)));
        if (type != "multus" && type != "multus-shim") continue;
        if (name != first)
            found.failure(
                "",
                fmt::format("runtimes use {}/{}, not {} of Multus, so pods get no secondary networks", kConfigurations,
                            first, name),
                fmt::format("remove {}/{}, or give it a name that sorts behind {}", kConfigurations, first, name));
        return;
    }
    if (first.empty()) throw base::Error(fmt::format("{} has no configuration", kConfigurations));
    found.warning("", fmt::format("no configuration in {} is of Multus; the first is {}", kConfigurations, first),
                  "install Multus if pods shall get secondary networks");
}

/// When a token expires, in seconds of the epoch (RFC 7519, "exp"), if it says so.
std::optional<std::int64_t> expiry_of(const std::string& token) try {
    const std::size_t begin = token.find('.');
    const std::size_t end = token.find('.', begin + 1);
    if (begin == std::string::npos || end == std::string::npos) return std::nullopt;
    std::string payload = token.substr(begin + 1, end - begin - 1);
    std::replace(payload.begin(), payload.end(), '-', '+'); // base64url (RFC 7515, section 2)
    std::replace(payload.begin(), payload.end(), '_', '/');
    payload.append((4 - payload.size() % 4) % 4, '=');
    const auto text = base::decode_base64(payload);
    if (!text) return std::nullopt;
    const json::Document document = json::Document::parse(*text);
    const auto expiry = document.root().find("exp");
    constexpr std::int64_t kMost = std::int64_t{1} << 52;
    return expiry ? std::optional(expiry->integer(0, kMost)) : std::nullopt;
} catch (const base::Error&) {
    return std::nullopt;
}

std::string token_in(const std::string& file) {
    constexpr std::string_view kKey = "token:"; // in a kubeconfig
    for (const std::string& line : lines_of(file)) {
        const std::size_t key = line.find_first_not_of(' ');
        if (key == std::string::npos || line.compare(key, kKey.size(), kKey) != 0) continue;
        const std::size_t begin = line.find_first_not_of(" \"", key + kKey.size());
        if (begin != std::string::npos) return line.substr(begin, line.find_first_of(" \"", begin) - begin);
    }
    return file.ends_with("/token") ? line_of(file) : std::string();
}

struct TokenFile {
    std::string_view path;
    std::string_view owner;
};

constexpr TokenFile kTokenFiles[] = {
    {"/etc/cni/net.d/multus.d/multus.kubeconfig", "Multus"},
    {"/etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig", "whereabouts"},
    {"/etc/cni/net.d/rdmanet.d/rdmanet.kubeconfig", "rdmanet"},
    {"/etc/cni/net.d/rdmanet.d/token", "rdmanet"},
};

void check_tokens(const Context& context, Findings& found) {
    bool any = false;
    for (const TokenFile& file : kTokenFiles) {
        const std::string token = token_in(context.path(file.path));
        any = any || !token.empty();
        const auto expiry = expiry_of(token);
        const std::int64_t now = std::time(nullptr);
        if (!expiry || *expiry > now) continue;
        constexpr std::int64_t kMinute = 60;
        found.failure("",
                      fmt::format("the token in {} expired {} minutes ago, so the API server answers Unauthorized",
                                  file.path, (now - *expiry) / kMinute),
                      file.owner == "rdmanet" ? "copy a new token to this node"
                                              : fmt::format("restart the pod of {} on this node", file.owner));
    }
    if (!any) throw base::Error("no kubeconfig in /etc/cni/net.d has a token");
}

constexpr Check kClusterChecks[] = {
    {{"resources", Layer::cluster, "resources that device plugins registered with the kubelet"}, check_resources},
    {{"allocations", Layer::cluster, "devices of pods, and to whom the kubelet gave them"}, check_allocations},
    {{"multus", Layer::cluster, "the configuration that runtimes use"}, check_multus},
    {{"tokens", Layer::cluster, "tokens of Multus, whereabouts and rdmanet"}, check_tokens},
};

} // namespace

std::span<const Check> cluster_checks() {
    return kClusterChecks;
}

} // namespace rdmanet::doctor
