// Device-info files: what Multus puts into a pod's network status about a device, and the application learns from the
// downward API (Network Plumbing Working Group, Device Information Specification 1.1.0).
#pragma once

#include "context.hpp"
#include "findings.hpp"
#include "kinds.hpp"
#include "step.hpp"

#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::attach {

/// A device-info file was written for Multus. Undone by removing it.
struct WriteDeviceInfo {
    static constexpr std::string_view kKind = kWriteDeviceInfo;

    std::string path;

    [[nodiscard]] static WriteDeviceInfo parse(const json::Reader& reader);
    void write(json::Writer& writer) const;
    [[nodiscard]] state::Holds holds() const;
    [[nodiscard]] std::string describe() const;
    void revert(const RevertContext& context) const;
};

/// Throws CniError unless `path` is what Multus calls this attachment's file, and no other attachment's: whoever
/// writes the network's configuration may name another one there.
void require_own_device_info(const std::string& path, const state::AttachmentKey& key,
                             const state::AttachmentStore& records);

/// What the file is to say after `earlier`, which Multus copies from the device plugin: of the same device, members
/// that ADD knows nothing of stay ("vhost-net"). The RDMA device is named as the pod sees it, and the device plugin's
/// name of it goes if the pod gets none. nullopt: another kind of device is described ("vdpa"), which stays as it is,
/// or the device is an auxiliary one, of which the specification knows no kind.
[[nodiscard]] std::optional<std::string> device_info_text(const FoundDevice& device, const std::string& rdma_device,
                                                          std::string_view earlier);

/// Unless it describes another kind of device, which ADD has left as it was. Throws base::SystemError.
void remove_device_info(const std::string& path);

/// Null if the attachment needs none.
[[nodiscard]] std::unique_ptr<Step> make_device_info(const AddContext& context, const Findings& found);

} // namespace rdmanet::attach
