// A pod of a manifest on all of its networks, attached as Multus does it.
#pragma once

#include "manifests.hpp"
#include "runtime.hpp"
#include "support/node.hpp"

#include <string>
#include <vector>

namespace rdmanet::test {

/// The objects of all examples.
[[nodiscard]] Manifests example_manifests();

class RunningPod {
public:
    /// `devices` has one device of the device plugin for each network with a resource. Throws if a network refuses.
    RunningPod(const PodManifest& manifest, const Manifests& all, std::vector<std::string> devices = {});

    [[nodiscard]] const Pod& pod() const { return pod_; }
    /// The result of the pod's network number `at`.
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
