#include "example_pod.hpp"

#include "markdown.hpp"

#include "support/concat.hpp"

#include <filesystem>

namespace rdmanet::test {

namespace {

/// CNI_ARGS and runtimeConfig for an element of the annotation. Multus repeats address and MAC in CNI_ARGS. This
/// function leaves them out, because they are deprecated there and the capabilities must suffice.
Attachment attachment_of(const PodManifest& manifest, const NetworkRequest& request, const Pod& pod) {
    Attachment attachment{
        .netns = pod.path(), .container = concat("sandbox-", manifest.name), .ifname = request.ifname};
    attachment.args = concat("IgnoreUnknown=true;K8S_POD_NAMESPACE=", manifest.pod_namespace,
                             ";K8S_POD_NAME=", manifest.name, ";K8S_POD_INFRA_CONTAINER_ID=", attachment.container,
                             ";K8S_POD_UID=0f0f0f0f-0000-4000-8000-000000000001");
    if (!request.guid.empty()) attachment.capabilities["infinibandGUID"] = concat('"', request.guid, '"');
    if (!request.mac.empty()) attachment.capabilities["mac"] = concat('"', request.mac, '"');
    std::string ips;
    for (const std::string& ip : request.ips) ips += concat(ips.empty() ? "" : ",", '"', ip, '"');
    if (!ips.empty()) attachment.capabilities["ips"] = concat('[', ips, ']');
    return attachment;
}

} // namespace

Manifests example_manifests() {
    Manifests all;
    for (const auto& entry : std::filesystem::directory_iterator(source_path("conf-examples")))
        if (entry.path().extension() == ".yaml")
            read_manifests(source_text(concat("conf-examples/", entry.path().filename().string())), all);
    return all;
}

RunningPod::RunningPod(const PodManifest& manifest, const Manifests& all, std::vector<std::string> devices)
    : pod_(manifest.name) {
    for (const NetworkRequest& request : manifest.networks) {
        const auto& definition = all.network(request.key);
        Joined joined{Network(definition.config, definition.name), attachment_of(manifest, request, pod_), {}};
        if (!definition.resource.empty()) {
            joined.attachment.device = devices.at(0);
            devices.erase(devices.begin());
        }
        joined.result = joined.network.add(joined.attachment);
        joined_.push_back(std::move(joined));
    }
}

std::string RunningPod::check() const {
    std::string failures;
    for (const auto& [network, attachment, result] : joined_) failures += network.check(attachment, result);
    return failures;
}

std::string RunningPod::del() const {
    std::string failures;
    for (auto joined = joined_.rbegin(); joined != joined_.rend(); ++joined)
        failures += joined->network.del(joined->attachment, joined->result);
    return failures;
}

} // namespace rdmanet::test
