// What the kubelet's answers say: ListPodResourcesResponse and AllocatableResourcesResponse of api.proto.
#pragma once

#include <rdmanet/podresources/client.hpp>

#include <string_view>
#include <vector>

namespace rdmanet::podresources {

/// Both throw MessageError. Fields of newer versions are skipped.
[[nodiscard]] std::vector<Pod> parse_pods(std::string_view message);
[[nodiscard]] std::vector<Devices> parse_allocatable(std::string_view message);

} // namespace rdmanet::podresources
