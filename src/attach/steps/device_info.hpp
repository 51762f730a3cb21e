// Device-info files. Multus copies them into the pod's network status, from which the application learns about the
// device (Network Plumbing Working Group, Device Information Specification 1.1.0).
#pragma once

#include "step.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::attach {

/// Throws CniError unless `path` is Multus' name for this attachment's file. The author of a network could otherwise
/// name another pod's file.
void require_own_device_info(const std::string& path, const state::AttachmentKey& key,
                             const state::AttachmentStore& records);

/// The new text of the file. `earlier` is its present text, which Multus copies from the device plugin.
/// - For the same device, members that ADD does not know stay ("vhost-net").
/// - The RDMA device gets the name that the pod sees. It is left out if the pod gets none.
/// nullopt if `earlier` describes another kind of device ("vdpa"), which stays, or if the device is an auxiliary one,
/// which the specification does not have.
[[nodiscard]] std::optional<std::string> device_info_text(const FoundDevice& device, const std::string& rdma_device,
                                                          std::string_view earlier);

/// Removes the file, unless it describes another kind of device, which ADD did not change. Throws base::SystemError.
void remove_device_info(const std::string& path);

} // namespace rdmanet::attach
