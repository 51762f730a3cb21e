// An attachment on namespaces of its own, whose steps are tested one by one: no guest, no process, no runtime.
#pragma once

#include "unit/kernel/fixture.hpp"

#include "lookup/pod_side.hpp"
#include "owners/attachment.hpp"
#include "steps/registry.hpp"

#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>

#include <optional>
#include <string>

namespace rdmanet::attach::test {

/// The thread is in the host's namespace, where "parent0" and "peer0" are, while this lives.
class Stage {
public:
    /// `members` of the network configuration: "\"mtu\": 1400". `plugins`: CNI_PATH.
    explicit Stage(const std::string& members, const std::string& plugins = "/opt/cni/bin");
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;
    ~Stage();

    [[nodiscard]] const AddContext& context() const { return context_; }
    [[nodiscard]] kernel::Socket& host() { return host_.route; }
    [[nodiscard]] kernel::Socket& pod() { return side_.route; }
    /// The interface in the pod.
    [[nodiscard]] std::optional<kernel::Link> link();

    /// Plans the steps and takes them down. `parent`: as ADD has locked it.
    void plan(const std::optional<Movable>& moving = {}, const kernel::Link* parent = nullptr);
    [[nodiscard]] const state::AttachmentRecord& record() const { return record_; }
    [[nodiscard]] std::vector<std::string> described() const;
    /// Does them all, and concludes. Throws std::logic_error for a step that changed what undoes it and did not say so.
    void apply(const cni::Result& own = {});
    /// What CHECK says; empty if it finds no difference.
    [[nodiscard]] std::string difference() const;
    /// Undoes what is taken down, from its end.
    void revert() const;
    [[nodiscard]] const Steps& steps() const { return steps_; }

private:
    kernel::test::Host host_;
    kernel::NetnsScope inside_host_;
    kernel::test::Pod pod_;
    std::string directory_;
    Node node_;
    cni::Request request_;
    config::Config config_;
    Attachment attachment_;
    PodSide side_;
    base::Deadline deadline_;
    AddContext context_;
    Steps steps_;
    cni::Result own_;
    state::AttachmentRecord record_;
};

/// "10.9.0.2/24" and so on, without gateways.
[[nodiscard]] cni::Result addresses(const std::vector<std::string>& texts);

} // namespace rdmanet::attach::test
