// The kubelet's list of devices, from its PodResources socket (k8s.io/kubelet, pkg/apis/podresources/v1, api.proto).
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/error.hpp>

#include <string>
#include <vector>

namespace rdmanet::podresources {

/// The kubelet gave no answer, or one that this module cannot read. The message names the socket and the method.
class CallError : public base::Error {
public:
    using Error::Error;
};

struct Devices {
    std::string resource;         // "example.com/vf"
    std::vector<std::string> ids; // as the device plugin calls them: "0000:3b:00.2", "17"
};

struct Pod {
    std::string name_space;
    std::string name;
    std::vector<Devices> devices; // of all its containers; a resource may be there several times
};

/// Where the kubelet listens (kubernetes, pkg/kubelet/apis/podresources/constants.go).
inline constexpr const char* kSocket = "/var/lib/kubelet/pod-resources/kubelet.sock";

/// The pods on this node, and the devices that the kubelet gave them. Connects to `socket`, asks once, changes nothing.
/// Throws CallError, also at the deadline.
[[nodiscard]] std::vector<Pod> list_pods(const std::string& socket, const base::Deadline& deadline);

/// The healthy devices of all device plugins, whether a pod has them or not. A resource without a healthy device is not
/// in the list. Throws CallError, also for a kubelet before Kubernetes 1.23, which does not know this method.
[[nodiscard]] std::vector<Devices> list_allocatable(const std::string& socket, const base::Deadline& deadline);

} // namespace rdmanet::podresources
