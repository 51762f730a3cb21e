#include "device_info.hpp"

#include "kinds.hpp"

#include "lookup/call.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/state/topic.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace rdmanet::attach {
namespace {

using state::WriteDeviceInfo;

std::optional<json::Document> parse_info(std::string_view text) try {
    auto document = json::Document::parse(text);
    document.root().expect_object();
    return document;
} catch (const base::Error&) { // not a valid file: ADD replaces it
    return std::nullopt;
}

std::string text_of(const json::Reader& object, std::string_view key) {
    const auto member = object.find(key);
    return member && member->is_string() ? member->string() : std::string();
}

bool is_another_kind(const std::optional<json::Document>& info) {
    const std::string type = info ? text_of(info->root(), "type") : std::string();
    return !type.empty() && type != "pci";
}

/// Empty if the file cannot be read.
std::string earlier_text(const std::string& path) try {
    constexpr std::size_t kMostBytes = 65536;
    return base::read_file_if_exists(path, kMostBytes).value_or("");
} catch (const base::SystemError&) {
    return {};
}

void keep_members(json::Writer& writer, const json::Reader& object, const std::vector<std::string_view>& ours) {
    for (const auto& [key, value] : object.members())
        if (std::find(ours.begin(), ours.end(), key) == ours.end()) writer.key(key).raw(value.to_text());
}

[[noreturn]] void refuse_file(const std::string& path, const std::string& why) {
    throw cni::CniError(
        cni::ErrorCode::invalid_network_config,
        fmt::format("runtimeConfig.CNIDeviceInfoFile: {} {}: remove the key, Multus sets it", base::quoted(path), why));
}

/// Replaces the whole file or nothing. Throws base::SystemError.
class DeviceInfo final : public RecordedStep<WriteDeviceInfo> {
public:
    DeviceInfo(std::string path, const FoundDevice& device)
        : RecordedStep({.path = std::move(path)}), device_{.address = device.address,
                                                           .vf = device.vf,
                                                           .representor = device.representor} {}
    void describe(const Call& /*call*/, Description& description) const override {
        description.add.push_back(fmt::format("write device-info file {}", base::quoted(step_.path)));
    }
    void apply(const Call& /*call*/, Progress& progress) override {
        const auto text = device_info_text(device_, progress.rdma_device, earlier_text(step_.path));
        if (!text) return;
        base::make_directories(step_.path.substr(0, step_.path.rfind('/')));
        base::write_file_durably(step_.path, *text);
    }

private:
    FoundDevice device_;
};

} // namespace

std::unique_ptr<Step> DeviceInfoKind::make(const Call& call, const Findings& found) {
    if (!found.device || !call.config->device_info_file) return nullptr;
    return std::make_unique<DeviceInfo>(*call.config->device_info_file, *found.device);
}

void require_own_device_info(const std::string& path, const state::AttachmentKey& key,
                             const state::AttachmentStore& records) {
    // Multus names the file "NAMESPACE-NETWORK-CONTAINER_IFNAME" (delegateRuntimeConfig(), pkg/types/conf.go).
    // NAMESPACE-NETWORK is the pod's name for the network. The configuration may have another one.
    const std::string suffix = fmt::format("-{}_{}", key.container_id, key.ifname);
    const std::string_view name = config::device_info_name(path);
    if (!name.ends_with(suffix) || name.size() == suffix.size())
        refuse_file(path,
                    fmt::format("is not this pod's device-info file, whose name ends with {}", base::quoted(suffix)));
    // Container IDs may contain '-', so the name alone is no proof.
    for (const state::AttachmentRecord& other : records.list_about(state::device_info_topic(name)))
        if (other.key.container_id != key.container_id || other.key.ifname != key.ifname)
            refuse_file(path, fmt::format("is the device-info file of another attachment ({})", describe(other)));
}

std::optional<std::string> device_info_text(const FoundDevice& device, const std::string& rdma_device,
                                            std::string_view earlier) {
    const auto address = device.address.pci();
    if (!address) return std::nullopt;
    const auto document = parse_info(earlier);
    const auto root = document ? std::optional(document->root()) : std::nullopt;
    if (is_another_kind(document)) return std::nullopt;
    auto pci = root ? root->find("pci") : std::nullopt;
    if (pci && (!pci->is_object() || base::PciAddress::parse(text_of(*pci, "pci-address")) != address)) pci.reset();

    json::Writer writer;
    writer.begin_object().member("type", "pci").member("version", "1.1.0").key("pci").begin_object();
    writer.member("pci-address", address->to_string());
    std::vector<std::string_view> ours{"pci-address", "rdma-device"};
    if (device.vf) {
        writer.member("pf-pci-address", device.vf->of.pf.to_string());
        ours.emplace_back("pf-pci-address");
    }
    if (!rdma_device.empty()) writer.member("rdma-device", rdma_device);
    if (device.representor) {
        writer.member("representor-device", device.representor->link.name);
        ours.emplace_back("representor-device");
    }
    if (pci) keep_members(writer, *pci, ours);
    writer.end_object();
    if (pci) keep_members(writer, *root, {"type", "version", "pci"});
    writer.end_object();
    return writer.to_text();
}

void remove_device_info(const std::string& path) {
    base::remove_file_durably(path + ".tmp");
    if (!is_another_kind(parse_info(earlier_text(path)))) base::remove_file_durably(path);
}

std::string DeviceInfoKind::describe(const Recorded& step) {
    return fmt::format("device-info file {}", step.path);
}

ByHand DeviceInfoKind::by_hand(const Recorded& step, const base::Deadline& /*deadline*/) {
    if (is_another_kind(parse_info(earlier_text(step.path))))
        return {.text = "nothing to do, because it is another plugin's"};
    return {.text = "remove it once the pod is gone"};
}

void DeviceInfoKind::revert(const Recorded& step, const Undo& /*undo*/) {
    remove_device_info(step.path);
}

} // namespace rdmanet::attach
