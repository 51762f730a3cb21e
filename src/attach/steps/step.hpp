// One step of an attachment: a value that says what will be done, and what was found before. What is written down of
// it is a state::Step, which registry.hpp checks and undoes.
#pragma once

#include "lookup/pod_side.hpp"
#include "lookup/rdma_devices.hpp"
#include "owners/attachment.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/cni/result.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::attach {

/// What an ADD, or a dry run of one, is about.
struct AddContext {
    const cni::Request& request;
    const config::Config& config;
    const Attachment& attachment;
    PodSide& pod;
    const base::Deadline& deadline;

    [[nodiscard]] const base::Logger& log() const { return attachment.node.log; }
};

/// What is planned from: by ADD, by a dry run of one, and by STATUS, for which there is no attachment and no pod yet.
struct PlanContext {
    const cni::Request& request;
    const config::Config& config;
    const state::AttachmentStore& records;
    const base::Logger& log;
    const base::Deadline& deadline;
    kernel::Socket& host;            // routing socket of the host's namespace
    const AddContext* add = nullptr; // null for STATUS
};

/// What steps learn and later ones need.
struct Progress {
    const state::AttachmentRecord& record;         // as it is written down by then
    cni::Result own{};                             // addresses and routes that the attachment gives its interface
    std::optional<kernel::Link> link{};            // its interface, in the pod
    std::optional<RdmaDevices> made_rdma{};        // by a driver that was bound anew
    RdmaDevices moved_rdma{};                      // in the pod
    std::optional<kernel::RdmaPort> shared_port{}; // of the RDMA device that stays on the host
    std::string rdma_device{};                     // as the pod calls it; of several, their names with commas between
    bool has_learned = false;                      // a step has changed what its recorded() says
};

/// For people.
struct Description {
    std::vector<std::string> add{}; // what ADD does
    std::vector<std::string> end{}; // what comes when the pod is gone
};

/// What ADD says at its end.
struct Conclusion {
    cni::Interface interface {}; // of the pod
    std::optional<cni::Interface> on_host{};
    state::AttachmentRecord& record; // for CHECK
};

class Step {
public:
    Step() = default;
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    virtual ~Step() = default;

    /// What undoes it, in the order of doing. Empty for a step with nothing to undo.
    [[nodiscard]] virtual std::vector<state::Step> recorded() const { return {}; }
    /// AttachmentRecord::rdma_device, if it is this step that gives the pod one.
    [[nodiscard]] virtual std::string rdma_device() const { return {}; }
    /// As far as it is worth a line.
    virtual void describe(const AddContext& /*context*/, Description& /*description*/) const {}
    /// After each earlier step: whether that has changed what recorded() says, which is then written down again.
    [[nodiscard]] virtual bool learn(const AddContext& /*context*/, const Progress& /*progress*/) { return false; }
    /// The change. It is recorded by now.
    virtual void apply(const AddContext& /*context*/, Progress& /*progress*/) {}
    /// When all steps are done.
    virtual void conclude(const AddContext& /*context*/, const Progress& /*progress*/, Conclusion& /*end*/) const {}
};

using Steps = std::vector<std::unique_ptr<Step>>;

/// What was found out before anything is changed: findings.hpp.
struct Findings;

} // namespace rdmanet::attach
