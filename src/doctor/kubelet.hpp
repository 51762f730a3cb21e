// What the kubelet of this node knows about devices. It is read once, when a check first asks.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::doctor {

/// A device that the kubelet gave to a pod. At least one of the pod's names is known.
struct Allocation {
    std::string pod;     // "shop/till", from the socket
    std::string pod_uid; // from the file
    std::string device;  // as the device plugin calls it
};

struct KubeletDevices {
    std::map<std::string, std::vector<std::string>> resources; // the healthy devices of each registered resource
    std::vector<Allocation> allocations;
    bool knows_names = false; // every allocation of a pod that runs is there with the pod's name
};

class Kubelet {
public:
    /// `root` is where the host's / is mounted.
    explicit Kubelet(std::string root) : root_(std::move(root)) {}

    /// From the PodResources socket and the device manager's file. One of them is enough. Waits for the socket for two
    /// seconds at most, and only at the first call. Throws base::Error if there is neither.
    [[nodiscard]] const KubeletDevices& devices();

private:
    std::string root_;
    std::optional<KubeletDevices> devices_;
    std::string trouble_; // why there are none
};

} // namespace rdmanet::doctor
