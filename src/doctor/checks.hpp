// The checks of each layer, in the order in which they run.
#pragma once

#include "context.hpp"

#include <span>

namespace rdmanet::doctor {

[[nodiscard]] std::span<const Check> hardware_checks();
[[nodiscard]] std::span<const Check> gpu_checks();
[[nodiscard]] std::span<const Check> kernel_checks();
[[nodiscard]] std::span<const Check> module_file_checks();
[[nodiscard]] std::span<const Check> kernel_log_checks();
[[nodiscard]] std::span<const Check> function_checks();
[[nodiscard]] std::span<const Check> rdma_system_checks();
[[nodiscard]] std::span<const Check> rdma_checks();
[[nodiscard]] std::span<const Check> place_checks();
[[nodiscard]] std::span<const Check> device_user_checks();
[[nodiscard]] std::span<const Check> vf_checks();
[[nodiscard]] std::span<const Check> vf_count_checks();
[[nodiscard]] std::span<const Check> protocol_checks();
[[nodiscard]] std::span<const Check> nic_checks();
[[nodiscard]] std::span<const Check> port_checks();
[[nodiscard]] std::span<const Check> traffic_class_checks();
[[nodiscard]] std::span<const Check> network_checks();
[[nodiscard]] std::span<const Check> host_network_checks();
[[nodiscard]] std::span<const Check> plugin_checks();
[[nodiscard]] std::span<const Check> locked_memory_checks();
[[nodiscard]] std::span<const Check> runtime_checks();
[[nodiscard]] std::span<const Check> subnet_checks();
[[nodiscard]] std::span<const Check> denial_checks();
[[nodiscard]] std::span<const Check> kubelet_device_checks();
[[nodiscard]] std::span<const Check> device_plugin_checks();
[[nodiscard]] std::span<const Check> cluster_checks();
[[nodiscard]] std::span<const Check> network_definition_checks();
[[nodiscard]] std::span<const Check> node_object_checks();
[[nodiscard]] std::span<const Check> api_access_checks();
[[nodiscard]] std::span<const Check> pod_presence_checks(); // only if a pod is asked for
// Only if the pod that is asked for has a network namespace here.
[[nodiscard]] std::span<const Check> pod_checks();
[[nodiscard]] std::span<const Check> pod_ipoib_checks();
[[nodiscard]] std::span<const Check> pod_network_checks();
[[nodiscard]] std::span<const Check> pod_program_checks();
[[nodiscard]] std::span<const Check> pod_provider_checks();

} // namespace rdmanet::doctor
