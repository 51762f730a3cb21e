#include "kubelet.hpp"

#include "files.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/podresources/client.hpp>

#include <chrono>
#include <cstddef>
#include <string_view>

namespace rdmanet::doctor {
namespace {

/// The device manager of the kubelet writes it when a device plugin registers and when a pod gets a device
/// (pkg/kubelet/cm/devicemanager/checkpoint). Its lists of registered devices have the healthy ones only.
constexpr std::string_view kCheckpoint = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";

constexpr std::string_view kFolder = "/var/lib/kubelet/";

void take_registered(const json::Reader& data, KubeletDevices& all) {
    const auto registered = data.find("RegisteredDevices");
    if (!registered) return;
    for (const auto& [resource, devices] : registered->members()) {
        std::vector<std::string>& ids = all.resources[resource];
        for (const json::Reader& device : devices.elements()) ids.push_back(device.string());
    }
}

void take_allocations(const json::Reader& data, KubeletDevices& all) {
    const auto entries = data.find("PodDeviceEntries");
    if (!entries) return;
    for (const json::Reader& entry : entries->elements()) {
        const std::string pod_uid = entry.at("PodUID").string();
        const json::Reader devices = entry.at("DeviceIDs");
        std::vector<json::Reader> lists{devices}; // before Kubernetes 1.20 a list, since then a list for each NUMA node
        if (devices.is_object()) {
            lists.clear();
            for (const auto& [node, list] : devices.members()) lists.push_back(list);
        }
        for (const json::Reader& list : lists)
            for (const json::Reader& device : list.elements())
                all.allocations.push_back({.pod_uid = pod_uid, .device = device.string()});
    }
}

/// Throws base::Error if the file is absent or is not what the kubelet writes.
void read_checkpoint(const std::string& root, KubeletDevices& all) {
    constexpr std::size_t kMost = 64U << 20U;
    const auto text = base::read_named_file_if_exists(fmt::format("{}{}", root, kCheckpoint), kMost);
    if (!text) throw base::Error(fmt::format("the kubelet has no file {}", kCheckpoint));
    const json::Document checkpoint = json::Document::parse(*text);
    const json::Reader data = checkpoint.root().at("Data");
    take_registered(data, all);
    take_allocations(data, all);
}

/// What the kubelet answers is newer than its file. The file alone has resources without a healthy device.
void ask_for_resources(const std::string& socket, const base::Deadline& deadline, KubeletDevices& all) {
    const auto allocatable = podresources::list_allocatable(socket, deadline);
    for (auto& [resource, ids] : all.resources) ids.clear();
    for (const podresources::Devices& devices : allocatable) {
        std::vector<std::string>& ids = all.resources[devices.resource];
        ids.insert(ids.end(), devices.ids.begin(), devices.ids.end());
    }
}

void ask_for_allocations(const std::string& socket, const base::Deadline& deadline, KubeletDevices& all) {
    for (const podresources::Pod& pod : podresources::list_pods(socket, deadline))
        for (const podresources::Devices& devices : pod.devices)
            for (const std::string& id : devices.ids)
                all.allocations.push_back({.pod = base::scoped_name(pod.name_space, pod.name), .device = id});
    all.knows_names = true;
}

/// What went wrong; empty if nothing did.
template <class Read>
std::string try_to(Read read) try {
    read();
    return {};
} catch (const base::Error& error) {
    return error.what();
}

/// In a container the kubelet's files are below `root`. Messages name them as the host does.
std::string as_on_host(std::string text, const std::string& root) {
    if (root.empty()) return text;
    const std::string seen = fmt::format("{}{}", root, kFolder);
    for (std::size_t at = text.find(seen); at != std::string::npos; at = text.find(seen, at))
        text.erase(at, root.size());
    return text;
}

} // namespace

const KubeletDevices& Kubelet::devices() {
    if (devices_) return *devices_;
    if (trouble_.empty()) {
        KubeletDevices all;
        const std::string socket = fmt::format("{}{}", root_, podresources::kSocket);
        const auto deadline = base::Deadline::in(std::chrono::seconds(2));
        const std::string of_file = try_to([&] { read_checkpoint(root_, all); });
        const std::string of_resources = try_to([&] { ask_for_resources(socket, deadline, all); });
        const std::string of_pods = try_to([&] { ask_for_allocations(socket, deadline, all); });
        if (of_file.empty() || (of_resources.empty() && of_pods.empty())) return devices_.emplace(std::move(all));
        const std::string of_socket = of_resources.empty() ? of_pods : of_resources;
        trouble_ = as_on_host(exists(socket) ? fmt::format("{}, and {}", of_file, of_socket)
                                             : fmt::format("{}, and no socket {}", of_file, podresources::kSocket),
                              root_);
    }
    throw base::Error(trouble_);
}

} // namespace rdmanet::doctor
