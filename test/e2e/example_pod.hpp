// A pod of a manifest on all of its networks, as Multus puts it there.
#pragma once

#include "manifests.hpp"
#include "runtime.hpp"
#include "support/node.hpp"

#include <string>
#include <vector>

namespace rdmanet::test {

/// The objects of all the examples.
[[nodiscard]] Manifests example_manifests();

class RunningPod {
public:
    /// `devices` are what the device plugin gave the pod, one for each network that has a resource. Throws if a network
    /// refuses.
    RunningPod(const PodManifest& manifest, const Manifests& all, std::vector<std::string> devices = {});

    [[nodiscard]] const Pod& pod() const { return pod_; }
    /// Of the pod's network number `at`.
    [[nodiscard]] const std::string& result(std::size_t at) const { return joined_.at(at).result; }
    [[nodiscard]] std::string check() const;
    [[nodiscard]] std::string del() const;

private:
    struct Joined {
        Network network;
        Attachment attachment;
        std::string result;
    };
    Pod pod_;
    std::vector<Joined> joined_;
};

} // namespace rdmanet::test
