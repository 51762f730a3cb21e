// The network namespaces of the node, and whose they are.
#pragma once

#include <rdmanet/inventory/inventory.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <string>
#include <vector>

namespace rdmanet::inventory {

/// The host's first, then those that processes or mounts keep, by their names. `proc` is where the host's procfs is
/// mounted. Adds to `unseen` what it may not examine. Throws base::SystemError.
[[nodiscard]] std::vector<Namespace> list_namespaces(const std::string& proc,
                                                     const std::vector<state::AttachmentRecord>& records,
                                                     std::vector<std::string>& unseen);

/// The UID of the pod that a process belongs to, from its line in /proc/PID/cgroup: kubelet names the cgroup
/// "kubepods-burstable-podUID.slice" (systemd) or "kubepods/burstable/podUID" (cgroupfs). Empty for other processes.
[[nodiscard]] std::string pod_uid_of_cgroup(std::string_view cgroup);

} // namespace rdmanet::inventory
