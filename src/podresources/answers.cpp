#include "answers.hpp"

#include "protobuf.hpp"

#include <rdmanet/base/text.hpp>

namespace rdmanet::podresources {
namespace {

/// The numbers of fields in api.proto. A field of the same name has the same number in both answers.
constexpr std::uint32_t kPods = 1;             // ListPodResourcesResponse
constexpr std::uint32_t kPodName = 1;          // PodResources
constexpr std::uint32_t kPodNamespace = 2;     // PodResources
constexpr std::uint32_t kPodContainers = 3;    // PodResources
constexpr std::uint32_t kContainerDevices = 2; // ContainerResources
constexpr std::uint32_t kAllocatable = 1;      // AllocatableResourcesResponse
constexpr std::uint32_t kResourceName = 1;     // ContainerDevices
constexpr std::uint32_t kDeviceIds = 2;        // ContainerDevices

/// Texts become parts of messages and of JSON.
std::string text_of(std::string_view content) {
    if (!base::is_printable_utf8(content)) throw MessageError("a text that is not UTF-8, or has control characters");
    return std::string(content);
}

Devices parse_devices(std::string_view message) {
    Devices devices;
    MessageReader fields(message);
    while (const auto field = fields.next()) {
        if (field->number == kResourceName) devices.resource = text_of(field->content);
        if (field->number == kDeviceIds) devices.ids.push_back(text_of(field->content));
    }
    return devices;
}

Pod parse_pod(std::string_view message) {
    Pod pod;
    MessageReader fields(message);
    while (const auto field = fields.next()) {
        if (field->number == kPodName) pod.name = text_of(field->content);
        if (field->number == kPodNamespace) pod.name_space = text_of(field->content);
        if (field->number != kPodContainers) continue;
        MessageReader container(field->content);
        while (const auto part = container.next())
            if (part->number == kContainerDevices) pod.devices.push_back(parse_devices(part->content));
    }
    return pod;
}

} // namespace

std::vector<Pod> parse_pods(std::string_view message) {
    std::vector<Pod> pods;
    MessageReader fields(message);
    while (const auto field = fields.next())
        if (field->number == kPods) pods.push_back(parse_pod(field->content));
    return pods;
}

std::vector<Devices> parse_allocatable(std::string_view message) {
    std::vector<Devices> all;
    MessageReader fields(message);
    while (const auto field = fields.next())
        if (field->number == kAllocatable) all.push_back(parse_devices(field->content));
    return all;
}

} // namespace rdmanet::podresources
