// An attachment in namespaces of its own. Its steps are tested one by one, without guest, process or runtime.
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

/// While this object lives, the thread is in the host's namespace, which has "parent0" and "peer0".
class Stage {
public:
    /// `members` of the network configuration, like "\"mtu\": 1400". `plugins` is CNI_PATH.
    explicit Stage(const std::string& members, const std::string& plugins = "/opt/cni/bin");
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;
    ~Stage();

    [[nodiscard]] const AddContext& context() const { return context_; }
    [[nodiscard]] kernel::Socket& host() { return host_.route; }
    [[nodiscard]] kernel::Socket& pod() { return side_.route; }
    /// The interface in the pod.
    [[nodiscard]] std::optional<kernel::Link> link();

    /// Plans the steps and records them. `parent` is the one that ADD has locked.
    void plan(const std::optional<Movable>& moving = {}, const kernel::Link* parent = nullptr);
    [[nodiscard]] const state::AttachmentRecord& record() const { return record_; }
    [[nodiscard]] std::vector<std::string> described() const;
    /// Applies all steps and concludes. Throws std::logic_error if a step changed its undo without reporting it.
    void apply(const cni::Result& own = {});
    /// CHECK's difference. Empty if there is none.
    [[nodiscard]] std::string difference() const;
    /// Reverts the recorded steps, from the last to the first.
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
