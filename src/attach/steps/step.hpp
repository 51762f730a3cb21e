// One step of an ADD: it knows what to do, and what it found before. What undoes it is a state::Step.
#pragma once

#include "comparison.hpp"
#include "findings.hpp"

#include "lookup/call.hpp"
#include "lookup/rdma_devices.hpp"

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
#include <utility>
#include <vector>

namespace rdmanet::attach {

/// What steps learn and later steps need.
struct Progress {
    const state::AttachmentRecord& record;  // as it is recorded now
    cni::Result own{};                      // addresses and routes of the attachment's interface
    std::optional<kernel::Link> link{};     // the attachment's interface in the pod
    std::optional<RdmaDevices> made_rdma{}; // what a driver created when it was bound again
    RdmaDevices moved_rdma{};               // in the pod
    std::string rdma_device{};              // its name in the pod; several names are separated by commas
    bool has_learned = false;               // recorded() of a step has changed
};

/// The lines of `rdmanet plan`.
struct Description {
    std::vector<std::string> add{}; // what ADD does
    std::vector<std::string> end{}; // what DEL does
};

/// What steps add to the result and to the record when ADD is done.
struct Conclusion {
    cni::Interface interface {}; // in the pod
    std::optional<cni::Interface> on_host{};
    state::AttachmentRecord& record; // gets what CHECK needs
};

class Step {
public:
    Step() = default;
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    virtual ~Step() = default;

    /// The recorded form, from which it is undone. Empty for a step with nothing to undo.
    [[nodiscard]] virtual std::vector<state::Step> recorded() const { return {}; }
    /// The value for AttachmentRecord::rdma_device, if this step gives the pod an RDMA device.
    [[nodiscard]] virtual std::string rdma_device() const { return {}; }
    /// Adds lines for `rdmanet plan`.
    virtual void describe(const Call& /*call*/, Description& /*description*/) const {}
    /// Called after each earlier step. Returns true if recorded() has changed: the record is then written again.
    [[nodiscard]] virtual bool learn(const Call& /*call*/, const Progress& /*progress*/) { return false; }
    /// Makes the change. The record already has it.
    virtual void apply(const Call& /*call*/, Progress& /*progress*/) {}
    /// Called when all steps are applied.
    virtual void conclude(const Call& /*call*/, const Progress& /*progress*/, Conclusion& /*end*/) const {}
};

/// A step that is undone from a `Value`. Unless a class adds more, applying it does nothing: its place in the list only
/// decides when it is undone.
template <class Value>
class RecordedStep : public Step {
public:
    explicit RecordedStep(Value step) : step_(std::move(step)) {}

    [[nodiscard]] std::vector<state::Step> recorded() const override { return {step_}; }

protected:
    Value step_;
};

using Steps = std::vector<std::unique_ptr<Step>>;

} // namespace rdmanet::attach
